"""An example tool. The model sees its name, parameters and docstring."""

from retinue import ToolContext, tool


# `keyed` promises that a repeated call with the same key has no further effect. After a crash in
# the middle of a call, Retinue can run it again, and the note is still written only once.
@tool(effect="keyed")
async def note_down(ctx: ToolContext, text: str) -> str:
    """Save a short note for later."""
    path = f"/notes/{ctx.idempotency_key.replace('/', '-')}.md"
    await ctx.files.write(path, f"{text}\n".encode())
    return f"Noted in {path}."
