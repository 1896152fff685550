"""A process with several agents, one of whose messages kills it: run as a program by a test."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from retinue.agents.descriptor import UserDescriptor
from retinue.ids import LOCAL_OWNER
from retinue.model_messages import TextContent, UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Reply, ScriptedModel
from retinue.testing.kit import Kit, Stage

TEXTS = ("one", "two", "kill", "three")
_ALONE_SECONDS = 0.5


class Crowd:
    """Model calls that go on at the same time."""

    def __init__(self) -> None:
        self._here: set[str] = set()
        self._is_full = asyncio.Event()

    async def is_met(self, text: str) -> bool:
        """Whether all calls are under way at once, soon after this one began."""
        self._here.add(text)
        if len(self._here) == len(TEXTS):
            self._is_full.set()
        try:
            await asyncio.wait_for(self._is_full.wait(), _ALONE_SECONDS)
        except TimeoutError:
            self._here.discard(text)
            return False
        return True

    def reply(self, request: ModelRequest) -> Reply:
        message = request.messages[0]
        assert isinstance(message, UserMessage)
        content = message.content[0]
        assert isinstance(content, TextContent)
        text = content.text

        async def work() -> None:
            is_crowded = await self.is_met(text)
            if text == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if is_crowded:
                await asyncio.Event().wait()  # the process dies in this call

        return Reply(text=f"{text} done", before=work)


async def main(directory: Path) -> None:
    model = ScriptedModel(Crowd().reply, name="main")
    kit = Kit(Stage(directory=directory, models={"main": model}))
    await kit.open()
    receipts = [
        await kit.engine.post(
            LOCAL_OWNER,
            UserDescriptor(connector="chat", user_id="u", channel_id=text),
            text,
            key=text,
            definition="helper",
        )
        for text in TEXTS
    ]
    outcomes = [await kit.outcome(receipt) for receipt in receipts]
    sys.stdout.write(json.dumps([[o.item.fate, o.reply] for o in outcomes]))
    await kit.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
