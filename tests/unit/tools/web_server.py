"""A small web server whose answers are written by the tests, byte by byte."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

Send = Callable[[bytes], Awaitable[None]]


@dataclass
class WebServer:
    """Answers each path with what was set for it, and keeps the requests."""

    answers: dict[str, bytes | Callable[[Send], Awaitable[None]]] = field(
        default_factory=dict[str, bytes | Callable[[Send], Awaitable[None]]]
    )
    requests: list[str] = field(default_factory=list[str])
    port: int = 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.host}{path}"

    def page(self, path: str, body: bytes, kind: str = "text/html", *headers: str) -> None:
        lines = [f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
        self.answers[path] = (
            "HTTP/1.1 200 OK\r\n" + "\r\n".join(lines) + "\r\n\r\n"
        ).encode() + body

    def redirect(self, path: str, to: str, status: int = 302) -> None:
        self.answers[path] = (
            f"HTTP/1.1 {status} Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()
        )

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def send(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.requests.append(head)
            answer = self.answers.get(head.split(" ", 2)[1], b"HTTP/1.1 404 Not Found\r\n\r\n")
            if isinstance(answer, bytes):
                await send(answer)
            else:
                await answer(send)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
