"""Definitions, their graphs and load errors."""

from starlette.responses import Response

from retinue.definitions.definition import Definition
from retinue.definitions.definition_graph import graph_of, package_of
from retinue.definitions.package_names import is_private
from retinue.engine.engine import Engine
from retinue.errors import NotFoundError
from retinue.problems import LoadProblem
from retinue.server.definition_wire import (
    DefinitionEntry,
    DefinitionGraph,
    DefinitionList,
    DefinitionsQuery,
    SideEntry,
)
from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, RouteCall, answer
from retinue.server.wire import Nothing, ProblemEntry


def _entry(definition: Definition, default: str) -> DefinitionEntry:
    return DefinitionEntry(
        name=definition.name,
        display_name=definition.display_name,
        description=definition.description,
        type=definition.kind,
        model=definition.model,
        icon=definition.icon,
        color=definition.color,
        file=definition.file,
        is_default=definition.name == default,
        ui_visible=definition.ui_visible,
        is_public=not is_private(definition.name),
        sides=[SideEntry(name=name, label=side.label or "") for name, side in definition.sides()],
        warnings=list(definition.warnings),
        package=package_of(definition),
    )


def _default(engine: Engine) -> str:
    try:
        return engine.catalog.default(engine.settings.agents.default_definition).name
    except NotFoundError:
        return ""


async def definitions(call: RouteCall[DefinitionsQuery, Nothing]) -> Response:
    catalog = (await call.engine.project.look()).catalog
    default = _default(call.engine)
    found = catalog.everything() if call.query.private else catalog.definitions()
    entries = [_entry(definition, default) for definition in found]
    return answer(DefinitionList(definitions=entries, problems=problems_of(call.engine)))


async def graph(call: Plain) -> Response:
    catalog = (await call.engine.project.look()).catalog
    found = graph_of(catalog, catalog.definition(call.parameter("name")))
    files = found.files
    problems = [problem for problem in problems_of(call.engine) if problem.file in files]
    return answer(
        DefinitionGraph(definitions=found.definitions, prompts=found.prompts, problems=problems)
    )


def problems_of(engine: Engine) -> list[ProblemEntry]:
    """Return the load errors of definitions, prompts and tools."""
    return [problem_entry(one) for one in engine.project.current.problems]


def problem_entry(problem: LoadProblem) -> ProblemEntry:
    return ProblemEntry(
        message=problem.message,
        file=problem.file,
        field=problem.field,
        line=problem.line,
        severity=problem.severity,
        using_last_good=problem.using_last_good,
    )


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/definitions",
        summary="List definitions and load errors",
        run=definitions,
        query=DefinitionsQuery,
        body=Nothing,
        answer=DefinitionList,
    ),
    Endpoint(
        method="GET",
        path="/api/definitions/{name:path}/graph",
        summary="Show a definition's sides, prompts, tools, subagents and handoffs",
        run=graph,
        query=Nothing,
        body=Nothing,
        answer=DefinitionGraph,
        refuses=(404,),
    ),
]
