"""Skills and load errors."""

from starlette.responses import Response

from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, answer
from retinue.server.plugin_wire import SkillList
from retinue.server.routes.definitions import problem_entry
from retinue.server.wire import Nothing


async def skills(call: Plain) -> Response:
    engine = call.engine
    await engine.reload.everything(engine.toolbox)
    return answer(
        SkillList(
            skills=list(engine.skills.known()),
            problems=[problem_entry(one) for one in engine.skills.problems()],
        )
    )


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/skills",
        summary="List the skills of plugins and of the project, and load errors",
        run=skills,
        query=Nothing,
        body=Nothing,
        answer=SkillList,
    ),
]
