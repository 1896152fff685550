"""What the asset team can do."""

from retinue import ToolContext, tool

_SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64">{}</svg>'
_SHADOW = '<ellipse cx="32" cy="48" rx="22" ry="8" opacity="0.3"/>'


@tool(effect="keyed")
async def draw_asset(ctx: ToolContext, name: str, shadow: bool = False) -> str:
    """Draw an asset into a file."""
    shape = f'<circle cx="32" cy="32" r="20"><title>{name}</title></circle>'
    drawing = _SVG.format(f"{_SHADOW}{shape}" if shadow else shape)
    file = await ctx.files.write(f"/attachments/{name}.svg", drawing.encode())
    return file.path


@tool(effect="pure")
def fail_asset(reason: str, attachments: list[str] | None = None) -> str:
    """Give the order up, with the reason and whatever drafts there are."""
    return "given up"


@tool(effect="pure")
def update_asset_status(status: str) -> str:
    """Tell the studio how it goes."""
    return "noted"


@tool(effect="pure")
def approve_asset(summary: str, attachments: list[str]) -> str:
    """Approve the asset and hand its files over."""
    return "approved"
