"""A process of windows: they follow one agent over WebSockets and count what they are sent."""

import asyncio
import sys

_HANDSHAKE = (
    "GET /api/ws?agent={agent} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer {token}\r\n\r\n"
)
_TWO_BYTES, _EIGHT_BYTES = 126, 127  # lengths that follow the head


class Window:
    """One connection; frames are counted and thrown away, so that the client costs little."""

    def __init__(self) -> None:
        self.frames = 0
        self.is_open = asyncio.Event()

    async def watch(self, port: int, token: str, agent: str) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_HANDSHAKE.format(agent=agent, port=port, token=token).encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 101 " in head.split(b"\r\n", 1)[0], head
        while True:
            length = (await reader.readexactly(2))[1]
            if length == _TWO_BYTES:
                length = int.from_bytes(await reader.readexactly(2))
            elif length == _EIGHT_BYTES:
                length = int.from_bytes(await reader.readexactly(8))
            await reader.readexactly(length)
            self.frames += 1
            self.is_open.set()


async def main(port: int, token: str, agent: str, count: int) -> None:
    windows = [Window() for _ in range(count)]
    watching = [asyncio.create_task(window.watch(port, token, agent)) for window in windows]
    for window in windows:
        await window.is_open.wait()
    before = sum(window.frames for window in windows)
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    assert not any(one.done() for one in watching), "a window was closed"
    print(sum(window.frames for window in windows) - before, flush=True)
    for one in watching:
        one.cancel()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
