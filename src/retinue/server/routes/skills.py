"""Skills and load errors."""

from starlette.responses import Response

from retinue.engine.skills.skill_catalog import known_skills
from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, answer
from retinue.server.plugin_wire import SkillList
from retinue.server.routes.definitions import problem_entry
from retinue.server.wire import Nothing


async def skills(call: Plain) -> Response:
    snapshot = await call.engine.project.look()
    return answer(
        SkillList(
            skills=list(known_skills(snapshot)),
            problems=[problem_entry(one) for one in snapshot.skill_problems],
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
