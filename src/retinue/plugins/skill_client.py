"""The command of a plugin's skill: calls the server from a sandbox, on behalf of the agent.

Uses only the standard library: a copy of this file runs in sandboxes without Retinue.
"""

import argparse
import http.client
import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retinue.plugins.command_line import (
    UNFIT,
    CommandLineError,
    Parsed,
    parse,
    parser_of,
    written,
)

SOCKET_VARIABLE = "RETINUE_SKILL_SOCKET"
TOKEN_VARIABLE = "RETINUE_SKILL_TOKEN"

DONE, FAILED, USAGE, NOT_SET_UP, REFUSED = 0, 1, 2, 3, 4
_TIMEOUT_SECONDS = 600


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def main(described: Path, arguments: Sequence[str]) -> int:
    """Run one command of the plugin that a file describes."""
    plugin = json.loads(described.read_text("utf-8"))
    parser = parser_of(
        f"{plugin['id']}-cli", plugin["description"], plugin["operations"], shared=_share
    )
    try:
        parsed = parse(parser, arguments)
    except CommandLineError as error:
        return _fail(USAGE, f"{error}; see --help")
    place, token = os.environ.get(SOCKET_VARIABLE), os.environ.get(TOKEN_VARIABLE)
    if not place or not token:
        return _fail(NOT_SET_UP, "this command runs only in the shell tool of an agent")
    try:
        status, answer = _call(place, token, plugin["id"], parsed)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return _fail(FAILED, f"no response, so it is unknown whether the call took effect: {error}")
    if status != http.HTTPStatus.OK:
        error = answer.get("error", {})
        code = error.get("code", status)
        exit_code = USAGE if code == UNFIT else REFUSED
        return _fail(exit_code, f"{error.get('message', status)} ({code})")
    sys.stdout.write(written(answer["result"], is_json=parsed.options["json"]) + "\n")
    return DONE


def _share(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print the result as JSON")


def _call(place: str, token: str, plugin: str, parsed: Parsed) -> tuple[int, Mapping[str, Any]]:
    connection = _Connection(place)
    try:
        connection.request(
            "POST",
            f"/api/plugins/{plugin}/operations/{parsed.operation}",
            body=json.dumps({"arguments": parsed.arguments}),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        response = connection.getresponse()
        return response.status, json.loads(response.read() or b"{}")
    finally:
        connection.close()


def _fail(code: int, message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return code
