"""Files of an agent's own tree."""

from urllib.parse import quote

from msgspec.structs import asdict
from starlette.responses import Response, StreamingResponse

from retinue.errors import NotFoundError, UsageError
from retinue.records import FileReference
from retinue.server.endpoints import (
    AnyEndpoint,
    Endpoint,
    Plain,
    RouteCall,
    answer,
    no_content,
)
from retinue.server.request_decoder import read_body
from retinue.server.wire import FileEntry, FileList, FilesQuery, FolderEntry, Nothing
from retinue.tools.port import ServedFiles

DOWNLOAD_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
}
"""An agent's files must never run in the app's origin."""


async def _tree(call: RouteCall[FilesQuery, Nothing] | Plain) -> ServedFiles:
    """Return the agent's files, after checking its owner; the files themselves have none."""
    agent_id = call.agent_id
    await call.engine.store.agent(call.owner, agent_id)
    return call.engine.tree(agent_id)


def _path(call: Plain) -> str:
    path = call.parameter("path")
    if not path or len(path) > 4096:
        raise UsageError("the file path is missing or too long", details={"field": "path"})
    return "/" + path


async def list_files(call: RouteCall[FilesQuery, Nothing]) -> Response:
    tree = await _tree(call)
    return await _listing(tree, call.query.path, recursive=call.query.recursive)


async def _listing(tree: ServedFiles, path: str, *, recursive: bool = False) -> Response:
    files: list[FileEntry] = []
    folders: list[FolderEntry] = []
    for entry in await tree.entries(path, recursive=recursive):
        if entry.file is None:
            name = entry.path.rpartition("/")[2]
            folders.append(FolderEntry(name=name, path=entry.path, modified_at=entry.modified))
        else:
            files.append(FileEntry(**asdict(entry.file), modified_at=entry.modified))
    return answer(FileList(files=files, folders=folders))


async def download(call: Plain) -> Response:
    tree = await _tree(call)
    if not call.parameter("path"):
        return await _listing(tree, "/")
    path = _path(call)
    try:
        file = await tree.stat(path)
    except NotFoundError as missing:
        try:
            return await _listing(tree, path)
        except (NotFoundError, UsageError):
            raise missing from None
    headers = {
        **DOWNLOAD_HEADERS,
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}",
    }
    if call.request.method == "HEAD":
        return Response(
            headers={**headers, "Content-Length": str(file.size)}, media_type=file.mime_type
        )
    stream = await tree.stream(path)
    headers["Content-Length"] = str(stream.size)
    return StreamingResponse(stream.pieces, headers=headers, media_type=file.mime_type)


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
        summary="Download a file, or list a folder",
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
