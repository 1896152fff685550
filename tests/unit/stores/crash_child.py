"""Works on a store until a failpoint kills it; says on stdout what was acknowledged."""

import asyncio
import sys
from pathlib import Path

import msgspec

from retinue.agents.descriptor import CronDescriptor
from retinue.ids import LOCAL_OWNER
from retinue.stores.folders.mirror import Mirror
from retinue.stores.port import Commit, Effects, FateChange, NewDelivery
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.store_samples import SampleRunner, at, chat, new_agent, post, said


def acknowledge(*facts: object) -> None:
    sys.stdout.write(" ".join(map(str, facts)) + "\n")
    sys.stdout.flush()


async def work(store: SqliteStore) -> None:
    agent, _ = await store.create(new_agent(chat("a")))
    other, _ = await store.create(new_agent(CronDescriptor(id="nightly")))
    acknowledge("create", agent.id)
    runner = await SampleRunner.claim(store, agent.id)
    for number in range(3):
        receipt = await store.admit(post(agent.id, f"text {number}", key=f"key {number}"))
        acknowledge("admit", receipt.item.id)
        out = NewDelivery(key=f"{number}", connector="web", channel="1", text="hi")
        commit = Commit(
            agent_id=agent.id,
            epoch=runner.epoch,
            at=at(number),
            state=msgspec.structs.replace(runner.state, updated_at=at(number), name=f"{number}"),
            records=[said(runner.next_seq, f"text {number}")],
            fates=[FateChange(item_id=receipt.item.id, fate="answered")],
            effects=Effects(posts=(post(other.id, f"from {number}"),), deliveries=(out,)),
        )
        await runner.commit(commit)
        acknowledge("commit", number)
    due = await store.due_deliveries(at(9), 1)
    await store.delivered(due[0].id)
    acknowledge("delivered", due[0].key)
    await store.delete(LOCAL_OWNER, other.id)
    acknowledge("delete", other.id)


async def main() -> None:
    store = SqliteStore(Path(sys.argv[1]))
    await store.open()
    mirror = Mirror(store)
    await mirror.start()
    await work(store)
    await mirror.stop()
    await store.close()
    acknowledge("end")


asyncio.run(main())
