"""Serves the built web app."""

from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from retinue.server.error_responses import HttpError, error_response, from_starlette

STATIC_DIR = Path(__file__).with_name("static")
_HASHED = "assets/"
_INDEX = "index.html"


class WebApp:
    """Serves the build; a path without a file is a page of the app."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files = StaticFiles(directory=directory, check_dir=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        try:
            if scope["type"] != "http" or is_api(scope["path"]):
                raise HTTPException(404)
            response = await self._response(scope)
        except HTTPException as error:
            response = error_response(from_starlette(error))
        await response(scope, receive, send)

    async def _response(self, scope: Scope) -> Response:
        if not (self._directory / _INDEX).is_file():
            return error_response(
                HttpError(404, "not_found", "The web app is not built. Run `make web`.")
            )
        path: str = scope["path"].lstrip("/") or _INDEX
        try:
            response = await self._files.get_response(path, scope)
        except HTTPException as error:
            if error.status_code != 404 or not _wants_page(path, scope):
                raise
            path = _INDEX
            response = await self._files.get_response(path, scope)
        if path.startswith(_HASHED):
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        elif path != _INDEX:
            response.headers["Cache-Control"] = "no-cache"
        return response


def is_api(path: str) -> bool:
    return path == "/api" or path.startswith("/api/")


def _wants_page(path: str, scope: Scope) -> bool:
    is_file = "." in path.rpartition("/")[2]
    return not is_file and "text/html" in Headers(scope=scope).get("accept", "")
