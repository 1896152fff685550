"""A small MCP server on the standard streams that does what a test tells it to.

Its tools are in the JSON file that it is given; `changed` tells the client to list again.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def call(name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    text = f"{name} {json.dumps(arguments)}"
    match name:
        case "die":
            os._exit(1)
        case "hang":
            time.sleep(600)
        case "env":
            text = json.dumps(dict(os.environ))
        case "much":
            text = "x" * 1_000_000
        case "key":
            text = str(meta.get("retinue/idempotencyKey"))
        case "surrogate":
            text = "a\ud800b"
        case "structured":
            return {"content": [], "structuredContent": {"a": 1}}
        case "odd":
            return {
                "content": [
                    {"type": "image", "data": "!", "mimeType": "image/png"},
                    {"type": "resource", "resource": {"uri": "x://1", "blob": "AAE="}},
                ]
            }
        case "changed":
            send({"method": "notifications/tools/list_changed"})
        case _:
            pass
    return {"content": [{"type": "text", "text": text}], "isError": name == "fail"}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "plain", "version": "1"},
            }
        case "tools/list":
            return {"tools": json.loads(Path(sys.argv[1]).read_text())}
        case "tools/call":
            return call(params["name"], params.get("arguments", {}), params.get("_meta", {}))
        case _:
            raise LookupError(method)


def main() -> None:
    if len(sys.argv) > 2:
        sys.exit(f"this server does not start: {sys.argv[2]}")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        try:
            result = answer(message["method"], message.get("params", {}))
            send({"id": message["id"], "result": result})
        except LookupError as error:
            send({"id": message["id"], "error": {"code": -32601, "message": f"no {error}"}})


main()
