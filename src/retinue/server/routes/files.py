"""Files of an agent's own tree."""

from mimetypes import guess_type
from urllib.parse import quote

from starlette.responses import Response

from retinue.errors import UsageError
from retinue.messages import FileReference
from retinue.server.endpoints import (
    AnyEndpoint,
    Call,
    Endpoint,
    Plain,
    answer,
    no_content,
    read_body,
)
from retinue.server.wire import FileList, FilesQuery, Nothing
from retinue.tools.port import AgentFiles

DOWNLOAD_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
}
"""What an agent wrote must never run in the app's origin."""


async def _tree(call: Call[FilesQuery, Nothing] | Plain) -> AgentFiles:
    """Give the tree of an agent that is the caller's; the trees themselves know no owners."""
    agent_id = call.agent_id
    await call.engine.store.agent(call.owner, agent_id)
    return call.engine.tree(agent_id)


def _path(call: Plain) -> str:
    path = call.parameter("path")
    if not path or len(path) > 4096:
        raise UsageError("the path of a file is missing or too long", details={"field": "path"})
    return "/" + path


async def list_files(call: Call[FilesQuery, Nothing]) -> Response:
    tree = await _tree(call)
    found = await tree.list(call.query.path, recursive=call.query.recursive)
    return answer(FileList(files=list(found)))


async def download(call: Plain) -> Response:
    tree = await _tree(call)
    path = call.parameter("path")
    if not path or path.endswith("/"):
        return answer(FileList(files=list(await tree.list("/" + path))))
    path = _path(call)
    data = await tree.read(path)
    name = path.rpartition("/")[2]
    media_type = guess_type(name)[0] or "application/octet-stream"
    disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    headers = {**DOWNLOAD_HEADERS, "Content-Disposition": disposition}
    return Response(data, headers=headers, media_type=media_type)


async def upload(call: Plain) -> Response:
    tree = await _tree(call)
    path = _path(call)
    options = call.services.options
    data = await read_body(
        call.request, limit=options.upload_bytes, timeout_seconds=options.read_timeout_seconds
    )
    return answer(await tree.write(path, data), 201)


async def delete(call: Plain) -> Response:
    await (await _tree(call)).delete(_path(call))
    return no_content()


_FILE = "/api/agents/{agent_id}/files/{path:path}"

ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/agents/{agent_id}/files",
        summary="List a folder of the agent's files",
        run=list_files,
        query=FilesQuery,
        body=Nothing,
        answer=FileList,
        refuses=(404,),
    ),
    Endpoint(
        method="GET",
        path=_FILE,
        summary="Download a file; a path that ends in a slash lists the folder",
        run=download,
        query=Nothing,
        body=Nothing,
        answer="*/*",
        refuses=(404,),
    ),
    Endpoint(
        method="PUT",
        path=_FILE,
        summary="Write a file",
        run=upload,
        query=Nothing,
        body=Nothing,
        takes="bytes",
        status=201,
        answer=FileReference,
        refuses=(404, 507),
    ),
    Endpoint(
        method="DELETE",
        path=_FILE,
        summary="Delete a file",
        run=delete,
        query=Nothing,
        body=Nothing,
        status=204,
        refuses=(404,),
    ),
]
