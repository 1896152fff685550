"""What a tool asks before it does something that needs a grant."""

from retinue.errors import RefusedError
from retinue.tools.port import ToolContext

NETWORK = "@network"


def require(ctx: ToolContext, grant: str, to_do: str) -> None:
    """Raise `RefusedError` with the way to get the grant, if the agent does not hold it."""
    if grant not in ctx.grants:
        raise RefusedError(
            f"This agent may not {to_do}: it does not hold the grant {grant}. Its owner can give "
            f"it: ask with request_permission (permission {grant!r} and your reason) where you "
            "have that tool, and otherwise tell the owner.",
            details={"grant": grant},
        )
