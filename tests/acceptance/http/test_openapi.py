"""The API's description: complete, stable, and true under fire."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from retinue.server.app import ENDPOINTS
from retinue.server.openapi_document import document
from tests.acceptance.http.test_serving import SERVER, TOKEN, make_project

DOCUMENT: dict[str, Any] = json.loads(document(ENDPOINTS))
ROUTES = [
    ("get", "/api/health"),
    ("get", "/api/definitions"),
    ("get", "/api/definitions/{name}/graph"),
    ("post", "/api/agents"),
    ("get", "/api/agents"),
    ("get", "/api/agents/{agent_id}"),
    ("get", "/api/agents/{agent_id}/tree"),
    ("patch", "/api/agents/{agent_id}"),
    ("delete", "/api/agents/{agent_id}"),
    ("post", "/api/agents/{agent_id}/messages"),
    ("get", "/api/agents/{agent_id}/messages"),
    ("get", "/api/agents/{agent_id}/messages/{message_id}"),
    ("get", "/api/agents/{agent_id}/history"),
    ("post", "/api/agents/{agent_id}/reset"),
    ("post", "/api/agents/{agent_id}/stop"),
    ("post", "/api/agents/{agent_id}/compact"),
    ("post", "/api/agents/{agent_id}/terminate"),
    ("get", "/api/variables"),
    ("put", "/api/variables/{name}"),
    ("delete", "/api/variables/{name}"),
    ("get", "/api/agents/{agent_id}/variables"),
    ("put", "/api/agents/{agent_id}/variables/{name}"),
    ("delete", "/api/agents/{agent_id}/variables/{name}"),
    ("get", "/threads/{agent_id}/variables/{request_id}"),
    ("post", "/threads/{agent_id}/variables/{request_id}"),
    ("get", "/api/threads/{agent_id}/variables/{request_id}"),
    ("post", "/api/threads/{agent_id}/variables/{request_id}"),
    ("get", "/api/agents/{agent_id}/files"),
    ("get", "/api/agents/{agent_id}/files/{path}"),
    ("put", "/api/agents/{agent_id}/files/{path}"),
    ("delete", "/api/agents/{agent_id}/files/{path}"),
    ("get", "/api/events"),
    ("get", "/api/tools"),
    ("post", "/api/login"),
    ("post", "/api/login-codes"),
    ("post", "/api/logout"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_of_the_contract_is_described(method: str, path: str) -> None:
    operation = DOCUMENT["paths"][path][method]
    assert operation["summary"]
    assert "401" in operation["responses"]


def test_events_and_records_are_described() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert {"$ref": "#/components/schemas/RecordEvent"} in schemas["StreamEvent"]["anyOf"]
    assert {"$ref": "#/components/schemas/AssistantRecord"} in schemas["Record"]["anyOf"]
    assert schemas["RecordEvent"]["properties"]["record"] == {"$ref": "#/components/schemas/Record"}
    assert "reply" in schemas["MessageAnswer"]["required"]


def test_every_reference_leads_somewhere() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    names = re.findall(rb'"#/components/schemas/(\w+)"', document(ENDPOINTS))
    assert {name.decode() for name in names} <= set(schemas)


def test_operations_have_names_of_their_own() -> None:
    names = [op["operationId"] for path in DOCUMENT["paths"].values() for op in path.values()]
    assert len(names) == len(set(names))


def test_the_description_is_printed_the_same_every_time() -> None:
    command = [sys.executable, "-m", "retinue.server.openapi"]
    printed = [
        subprocess.run(
            command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1] == document(ENDPOINTS) + b"\n"


# ---------------------------------------------------------------- under fire


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """A server of its own process, for a client that sends it everything."""
    project = make_project(tmp_path_factory.mktemp("fuzzed"))
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, project],
        stdout=subprocess.PIPE,
        env={**os.environ, "RETINUE_SERVER__TOKEN": TOKEN, "RETINUE_MODEL": "offline"},
        text=True,
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        yield client
    process.terminate()
    assert process.wait(30) == 0
    process.stdout.close()


def within_reach(client: httpx2.Client) -> dict[str, Any]:
    """Narrow the description to ids that exist, so that generated requests get beyond a 404."""

    def new_agent() -> str:
        return client.post("/api/agents", json={"definition": "helper"}).json()["id"]

    agent = new_agent()
    client.patch(f"/api/agents/{agent}", json={"model": "offline"})
    said = client.post(f"/api/agents/{agent}/messages", json={"content": "hello"})
    values = {
        "agent_id": {"enum": [agent]},
        "agent": {"enum": [agent]},
        "message_id": {"enum": [said.json()["id"]]},
        "path": {"enum": ["a.txt", "b/c.txt"]},
        "wait": {"type": "number", "minimum": 0, "maximum": 0.05},
    }
    narrowed = json.loads(json.dumps(DOCUMENT))
    del narrowed["paths"]["/api/events"]  # it does not end
    schemas = narrowed["components"]["schemas"]
    schemas["NewAgent"]["properties"]["definition"] = {"enum": ["helper"]}
    for path, operations in narrowed["paths"].items():
        for method, operation in operations.items():
            for parameter in operation["parameters"]:
                parameter["schema"] = values.get(parameter["name"], parameter["schema"])
            if method == "delete" or path.endswith("/terminate"):
                operation["parameters"][0]["schema"] = {"enum": [new_agent()]}
    return narrowed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_generated_request_breaks_the_server_or_its_description(
    server: httpx2.Client, tmp_path: Path
) -> None:
    described = within_reach(server)
    (tmp_path / "openapi.json").write_text(json.dumps(described))
    checks = (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    )
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", "openapi.json"),
            *("--url", str(server.base_url), "--header", f"Authorization: Bearer {TOKEN}"),
            *("--checks", ",".join(checks), "--phases", "coverage,fuzzing"),
            *("--max-examples", "3", "--generation-deterministic", "--no-color"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    operations = sum(len(path) for path in described["paths"].values())
    assert f"Tested: {operations}" in done.stdout
