"""What tests of permissions, approvals and questions share."""

from retinue.agents.request import Request
from retinue.engine.requests.decisions import Verdict
from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.models.scripted import Call, Reply
from retinue.stores.port import Agent
from retinue.testing.kit import Kit
from tests.unit.engine.support import until


def asks(permission: str, reason: str = "to look it up", tool: str = "request_permission") -> Reply:
    return Reply(calls=[Call(name=tool, arguments={"permission": permission, "reason": reason})])


async def pending(kit: Kit, owner: OwnerId = LOCAL_OWNER, count: int = 1) -> Request:
    """Wait until that many requests are pending, and give the newest."""
    found: list[Request] = []

    async def came() -> bool:
        found[:] = await kit.store.requests.list(owner, status="pending")
        return len(found) == count

    await until(came)
    return found[0]


async def decide(kit: Kit, request: Request, verdict: Verdict = "allow", note: str = "") -> Request:
    return await kit.engine.requests.decide(
        request.owner, request.id, verdict, by="test", note=note
    )


async def last_is(kit: Kit, agent: Agent, last: str) -> list[str]:
    """Wait until the history ends like this."""
    kinds: list[str] = []

    async def came() -> bool:
        kinds[:] = await kit.kinds(agent)
        return kinds[-1] == last

    await until(came)
    return kinds
