"""Windows: report what a window shows, for clients without a WebSocket."""

import msgspec
from starlette.responses import Response

from retinue.engine.panels.windows import LEASE_SECONDS
from retinue.errors import NotFoundError, UsageError
from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, RouteCall, answer, no_content
from retinue.server.panel_wire import (
    Lease,
    PanelInventory,
    WindowEntry,
    WindowId,
    WindowList,
    inventory_of,
)
from retinue.server.wire import Nothing


def _window_id(text: str) -> str:
    try:
        return msgspec.convert(text, WindowId)
    except msgspec.ValidationError:
        raise UsageError(
            "a window's id is 1 to 64 letters, digits, '_' and '-'", details={"field": "window_id"}
        ) from None


async def list_windows(call: Plain) -> Response:
    known = call.engine.windows.of(call.owner)
    entries = [WindowEntry(window_id=key, inventory=one) for key, one in known.items()]
    return answer(WindowList(windows=entries))


async def show(call: RouteCall[Nothing, PanelInventory]) -> Response:
    window_id = _window_id(call.parameter("window_id"))
    call.engine.windows.show(call.owner, window_id, inventory_of(call.body))
    return answer(Lease(lease_seconds=LEASE_SECONDS))


async def close(call: Plain) -> Response:
    window_id = _window_id(call.parameter("window_id"))
    if not call.engine.windows.close(call.owner, window_id):
        raise NotFoundError(f"no window {window_id!r}", details={"window": window_id})
    return no_content()


_WINDOW = "/api/windows/{window_id}"

ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/windows",
        summary="List the open windows and their panels",
        run=list_windows,
        query=Nothing,
        body=Nothing,
        answer=WindowList,
    ),
    Endpoint(
        method="PUT",
        path=_WINDOW,
        summary="Report what a window shows; repeat before the lease ends",
        run=show,
        query=Nothing,
        body=PanelInventory,
        takes="json",
        answer=Lease,
    ),
    Endpoint(
        method="DELETE",
        path=_WINDOW,
        summary="Report that a window was closed",
        run=close,
        query=Nothing,
        body=Nothing,
        status=204,
        refuses=(404,),
    ),
]
