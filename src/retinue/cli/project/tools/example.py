"""An example of a tool: the name, the arguments and the text below are what a model is told."""

from retinue import ToolContext, tool


# `keyed` promises that a second call with the same key changes nothing more. So after a crash in
# the middle of a call Retinue may run it again, and the note is still there once.
@tool(effect="keyed")
async def note_down(ctx: ToolContext, text: str) -> str:
    """Write a short note down, so that it can be found later."""
    path = f"/notes/{ctx.idempotency_key.replace('/', '-')}.md"
    await ctx.files.write(path, f"{text}\n".encode())
    return f"Noted in {path}."
