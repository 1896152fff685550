"""Turns a second while windows watch an agent that streams, beside the same without them."""

import asyncio
import statistics
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.system import Retinue, retinue
from bench.workload import Timing, drive
from retinue.ids import LOCAL_OWNER, AgentId
from retinue.models.port import Completed, ModelEvent, ModelRequest, TextDelta
from retinue.records import TextPart
from retinue.server.app import create_app
from retinue.server.http_server import bind, serve

WINDOWS = 50
CONVERSATIONS = 200
TURNS = 10
DELTAS_PER_SECOND = 100  # what a fast provider sends
_DELTA = "a few words "
_TOKEN = "bench-token-bench-token"
_DEFINITIONS = {
    "assistant": 'name = "assistant"\ndisplayName = "Assistant"\n',
    "talker": 'name = "talker"\ndisplayName = "Talker"\nmodel = "talker"\n',
}


class Talker:
    """A model that goes on talking until it is told to end."""

    name = "talker"
    window = None

    def __init__(self) -> None:
        self.ends = asyncio.Event()
        self.ended = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        del request
        said = 0
        while not self.ends.is_set():
            yield TextDelta(part=0, text=_DELTA)
            said += 1
            await asyncio.sleep(1 / DELTAS_PER_SECOND)
        whole = [TextPart(text=_DELTA * max(said, 1))]
        yield Completed(parts=whole, usage=None, finish="stop", model=self.name)
        self.ended.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """Medians over the rounds of one run."""

    windows: int
    frames_per_second: float  # that each window was sent
    turns_per_second: float  # with nobody watching
    watched_turns_per_second: float
    cost: float  # the share of turns a second that the windows took


async def measure(directory: Path, *, rounds: int, windows: int = WINDOWS) -> Watching:
    """Take turns without and with windows by turns, so that noise hits both."""
    talker = Talker()
    with tempfile.TemporaryDirectory(dir=directory) as name:
        folder = Path(name)
        (folder / "agents").mkdir()
        for definition, text in _DEFINITIONS.items():
            (folder / "agents" / f"{definition}.toml").write_text(text)
        async with retinue(folder, models={talker.name: talker}) as system, _served(system) as port:
            try:
                return await _measured(system, port, rounds=rounds, windows=windows)
            finally:
                talker.ends.set()
                await talker.ended.wait()


async def _measured(system: Retinue, port: int, *, rounds: int, windows: int) -> Watching:
    engine = system.app.engine
    streaming = await engine.create(LOCAL_OWNER, "talker")
    await engine.post(LOCAL_OWNER, streaming.id, "Talk.")
    pairs: list[tuple[Timing, Timing]] = []
    frames: list[float] = []
    await drive(system.turn, conversations=CONVERSATIONS, turns=2)
    for number in range(rounds):
        alone = await _turns(system, number * 2)
        async with _watched(port, streaming.id, windows) as seen:
            watched = await _turns(system, number * 2 + 1)
        pairs.append((alone, watched))
        frames.append(seen[0] / windows / watched.seconds)
    return Watching(
        windows=windows,
        frames_per_second=statistics.median(frames),
        turns_per_second=statistics.median(one.turns_per_second for one, _ in pairs),
        watched_turns_per_second=statistics.median(one.turns_per_second for _, one in pairs),
        cost=1
        - statistics.median(
            watched.turns_per_second / alone.turns_per_second for alone, watched in pairs
        ),
    )


async def _turns(system: Retinue, number: int) -> Timing:
    return await drive(
        system.turn, conversations=CONVERSATIONS, turns=TURNS, first=2 + number * TURNS
    )


@asynccontextmanager
async def _served(system: Retinue) -> AsyncGenerator[int]:
    """Serve the engine's doors in this process and loop, as `retinue serve` does."""
    sockets = bind("127.0.0.1", 0)
    ready = asyncio.Event()
    app = create_app(system.app.engine, token=_TOKEN)
    serving = asyncio.create_task(
        serve(app, "127.0.0.1", 0, sockets=sockets, on_ready=lambda _: ready.set())
    )
    await ready.wait()
    try:
        yield sockets[0].getsockname()[1]
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


@asynccontextmanager
async def _watched(port: int, agent: AgentId, windows: int) -> AsyncGenerator[list[int]]:
    """Open windows in another process; the frames that they were sent are told at the end."""
    seen = [0]
    clients = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench.window_clients",
        *(str(port), _TOKEN, agent, str(windows)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert clients.stdin and clients.stdout
    await clients.stdout.readline()
    try:
        yield seen
    finally:
        clients.stdin.write(b"\n")
        seen[0] = int(await clients.stdout.readline())
        await clients.wait()
