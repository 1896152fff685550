"""The wire format of OpenAI's responses API, as far as clients depend on it."""

from collections.abc import Iterator
from typing import Any

from retinue.testing.model_wire import Dialect, Json, OpenAIDialect, Said, Trouble, pieces, sse


class ResponsesDialect(Dialect):
    """One response; its events are numbered."""

    def __init__(self) -> None:
        self._count = 0
        self._output: list[Json] = []

    def content(self, said: Said) -> Iterator[bytes]:
        yield self._event("response.created", response=self._response(said, "in_progress"))
        if said.thinking:
            yield from self._reasoning(said)
        if said.text:
            yield from self._message(said)
        for index, call in enumerate(said.calls):
            item = {
                "type": "function_call",
                "id": f"fc_{index}",
                "call_id": call.id,
                "name": call.name,
                "arguments": "",
                "status": "in_progress",
            }
            yield from self._item(
                item,
                {**item, "arguments": call.arguments, "status": "completed"},
                [
                    ("response.function_call_arguments.delta", {"delta": piece})
                    for piece in pieces(call.arguments)
                ],
            )

    def ending(self, said: Said) -> Iterator[bytes]:
        is_whole = said.finish in (None, "stop")
        kind = "completed" if is_whole else "incomplete"
        response = {**self._response(said, kind), "output": self._output}
        if not is_whole:
            response["incomplete_details"] = {"reason": said.finish}
        if said.tokens is not None:
            used = said.tokens
            response["usage"] = {
                "input_tokens": used.input,
                "input_tokens_details": {"cached_tokens": used.cache_read},
                "output_tokens": used.output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": used.input + used.output,
            }
        yield self._event(f"response.{kind}", response=response)

    def refusal(self, trouble: Trouble, model: str) -> tuple[int, Json]:
        return OpenAIDialect().refusal(trouble, model)

    def error_event(self, trouble: Trouble, model: str) -> bytes:
        error = self.refusal(trouble, model)[1]["error"]
        return self._event("error", code=error["code"], message=error["message"], param=None)

    def _reasoning(self, said: Said) -> Iterator[bytes]:
        item: Json = {"type": "reasoning", "id": "rs_1", "summary": []}
        summary = {"type": "summary_text", "text": said.thinking}
        whole = {**item, "summary": [summary], "encrypted_content": said.signature}
        yield from self._item(
            item,
            whole,
            [
                (
                    "response.reasoning_summary_part.added",
                    {"summary_index": 0, "part": {"type": "summary_text", "text": ""}},
                ),
                (
                    "response.reasoning_summary_text.delta",
                    {"summary_index": 0, "delta": said.thinking},
                ),
            ],
        )

    def _message(self, said: Said) -> Iterator[bytes]:
        item: Json = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
        text: Json = {"type": "output_text", "text": "".join(said.text), "annotations": []}
        added: dict[str, Any] = {"content_index": 0, "part": {**text, "text": ""}}
        deltas: list[tuple[str, dict[str, Any]]] = [
            ("response.output_text.delta", {"content_index": 0, "delta": piece, "logprobs": []})
            for piece in said.text
        ]
        yield from self._item(
            {**item, "status": "in_progress"},
            {**item, "status": "completed", "content": [text]},
            [("response.content_part.added", added), *deltas],
        )

    def _item(
        self, begun: Json, whole: Json, within: list[tuple[str, dict[str, Any]]]
    ) -> Iterator[bytes]:
        place = {"output_index": len(self._output)}
        yield self._event("response.output_item.added", **place, item=begun)
        for kind, fields in within:
            yield self._event(kind, **place, item_id=begun["id"], **fields)
        self._output.append(whole)
        yield self._event("response.output_item.done", **place, item=whole)

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._count += 1
        return sse({"type": kind, "sequence_number": self._count, **fields}, event=kind)

    def _response(self, said: Said, status: str) -> dict[str, Any]:
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_700_000_000,
            "model": said.model,
            "status": status,
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
