"""Login with a one-time code or the token, login codes, and logout."""

from msgspec import UNSET
from starlette.responses import Response

from retinue.errors import RefusedError, UsageError
from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, RouteCall, answer, no_content
from retinue.server.guard import SESSION_SECONDS, client_address
from retinue.server.wire import LoggedIn, Login, LoginCode, Nothing


async def login(call: RouteCall[Nothing, Login]) -> Response:
    code, token = call.body.code, call.body.token
    if (code is UNSET) == (token is UNSET):
        raise UsageError("give either 'code' or 'token'", details={"field": "code"})
    gate = call.services.gate
    session = gate.login(
        code=None if code is UNSET else code,
        token=None if token is UNSET else token,
        address=client_address(call.request.scope),
    )
    response = answer(LoggedIn(owner=gate.owner))
    response.set_cookie(
        gate.cookie, session, max_age=SESSION_SECONDS, path="/", httponly=True, samesite="strict"
    )
    return response


async def new_code(call: Plain) -> Response:
    """Issue a login code; this needs the token, a browser's cookie is not enough."""
    principal = call.principal
    if principal is None or principal.via != "token":
        raise RefusedError("login codes need the token itself; run `retinue open`")
    return answer(LoginCode(code=call.services.gate.codes.issue()), 201)


async def logout(call: Plain) -> Response:
    """End the browser's session and its open connections."""
    principal = call.principal
    if principal is not None and principal.session:
        try:
            await call.services.gate.logout(principal.session)
        finally:
            call.services.live.end_session(principal.session)
    response = no_content()
    response.delete_cookie(call.services.gate.cookie, path="/", httponly=True, samesite="strict")
    return response


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="POST",
        path="/api/login",
        summary="Exchange a one-time code or the token for a browser cookie",
        run=login,
        query=Nothing,
        body=Login,
        takes="json",
        answer=LoggedIn,
        refuses=(401, 403, 429),
        is_public=True,
    ),
    Endpoint(
        method="POST",
        path="/api/login-codes",
        summary="Get a one-time code; /#login=<code> logs a browser in with it",
        run=new_code,
        query=Nothing,
        body=Nothing,
        takes="optional json",
        status=201,
        answer=LoginCode,
    ),
    Endpoint(
        method="POST",
        path="/api/logout",
        summary="End the browser's session",
        run=logout,
        query=Nothing,
        body=Nothing,
        takes="optional json",
        status=204,
        refuses=(507,),
    ),
]
