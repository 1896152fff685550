"""Definitions, with what does not load."""

from starlette.responses import Response

from retinue.definitions.definition import Definition
from retinue.errors import NotFoundError
from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, answer
from retinue.server.wire import (
    DefinitionEntry,
    DefinitionList,
    Nothing,
    PackageEntry,
    ProblemEntry,
    SideEntry,
)


def _entry(definition: Definition, default: str) -> DefinitionEntry:
    home = definition.home
    return DefinitionEntry(
        name=definition.name,
        display_name=definition.display_name,
        description=definition.description,
        type="external" if definition.is_external else definition.kind,
        model=definition.model,
        icon=definition.icon,
        color=definition.color,
        file=definition.file,
        is_default=definition.name == default,
        ui_visible=definition.ui_visible,
        sides=[SideEntry(name=name, label=side.label or "") for name, side in definition.sides()],
        warnings=list(definition.warnings),
        package=PackageEntry(name=home.package, version=home.version) if home else None,
    )


def _default(call: Plain) -> str:
    engine = call.engine
    try:
        return engine.catalog.default(engine.settings.agents.default_definition).name
    except NotFoundError:
        return ""


async def definitions(call: Plain) -> Response:
    catalog = call.engine.catalog
    await call.engine.following.everything(call.engine.toolbox)
    default = _default(call)
    problems = [
        ProblemEntry(
            message=problem.message,
            file=problem.file,
            field=problem.field,
            line=problem.line,
            severity=problem.severity,
            using_last_good=problem.using_last_good,
        )
        for problem in (*catalog.errors(), *call.engine.toolbox.problems())
    ]
    entries = [_entry(definition, default) for definition in catalog.definitions()]
    return answer(DefinitionList(definitions=entries, problems=problems))


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/definitions",
        summary="List the definitions, and what does not load",
        run=definitions,
        query=Nothing,
        body=Nothing,
        answer=DefinitionList,
    )
]
