"""What an engine is made of, and how its parts are put together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from retinue.clock import Clock
from retinue.definitions.catalog import Catalog
from retinue.engine.approving import Approvals
from retinue.engine.arriving import Arrivals
from retinue.engine.calling import ModelCaller
from retinue.engine.collaboration.services import Services
from retinue.engine.collaboration.toolbox import collaboration_tools
from retinue.engine.committing import Committer
from retinue.engine.composing import Composer
from retinue.engine.contexts import Contexts
from retinue.engine.delivery import Deliver, Outbox
from retinue.engine.desk import Desk
from retinue.engine.environment import Environment
from retinue.engine.equipment import Equipment
from retinue.engine.feed import Feed
from retinue.engine.following import Following
from retinue.engine.handing import Handoffs
from retinue.engine.hooking import Hooks
from retinue.engine.limits import Limits
from retinue.engine.making_room import RoomMaker
from retinue.engine.operations import Operations, PlanOf
from retinue.engine.panels import panel_tools
from retinue.engine.prompting.planning import OwnTools, Planner, together
from retinue.engine.prompting.sources import Artifacts, NoSkills, Skills
from retinue.engine.reporting import Reporter
from retinue.engine.roster import Roster
from retinue.engine.runner import Runner
from retinue.engine.scheduling.schedules import Schedules
from retinue.engine.scheduling.toolbox import schedule_tools
from retinue.engine.scheduling.watching import Probe
from retinue.engine.space import Space
from retinue.engine.sub_prompts import SubPrompts
from retinue.engine.subagents.booting import Boots
from retinue.engine.subagents.completing import Completions
from retinue.engine.subagents.deferring import Deferred
from retinue.engine.subagents.offering import SubagentTools
from retinue.engine.subagents.telling import ChildTools
from retinue.engine.tool_running import ToolRunner
from retinue.engine.tooling import Tooling
from retinue.engine.variable_office import GiveOrder, VariableOffice
from retinue.engine.windows import Windows
from retinue.models.port import Models
from retinue.plugins.port import PluginSource
from retinue.plugins.registry import Plugins
from retinue.settings import Settings
from retinue.stores.port import Store
from retinue.stores.schedule_port import ScheduleStore
from retinue.tools.declared import DeclaredToolbox
from retinue.tools.function import FunctionToolbox
from retinue.tools.port import FileTrees, Toolbox, ToolServer
from retinue.tools.toolbox import CombinedToolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything that an engine works with; the composition root fills it in."""

    store: Store
    schedules: ScheduleStore
    probe: Probe  # looks at what schedules watch
    models: Models
    toolbox: Toolbox
    catalog: Catalog
    settings: Settings
    clock: Clock
    trees: FileTrees
    environment: Environment
    plugins: PluginSource = field(default_factory=Plugins)
    connectors: Mapping[str, Deliver] = field(default_factory=dict[str, Deliver])
    random: Random = field(default_factory=Random)
    skills: Skills = field(default_factory=NoSkills)
    windows: Windows | None = None  # where plugins show something; the engine's own, if left out
    servers: Callable[[], Sequence[ToolServer]] = tuple  # programs outside that bring tools
    collaborates: bool = True  # agents get the tools with which they work together


def make_schedules(world: World, following: Following) -> Schedules:
    return Schedules(
        store=world.store,
        schedules=world.schedules,
        catalog=world.catalog,
        following=following,
        settings=world.settings,
        probe=world.probe,
        clock=world.clock,
    )


def make_toolbox(world: World, limits: Limits, schedules: Schedules, windows: Windows) -> Toolbox:
    """The tools of the world, and the engine's own."""
    declared = DeclaredToolbox(world.catalog)
    if not world.collaborates:
        return CombinedToolbox(world.toolbox, declared)
    services = _services(world, limits)
    return CombinedToolbox(
        FunctionToolbox(
            [
                *collaboration_tools(services),
                *schedule_tools(schedules),
                *panel_tools(windows),
            ]
        ),
        world.toolbox,
        declared,
    )


def make_operations(world: World, limits: Limits, plan_of: PlanOf) -> Operations:
    return Operations(
        plugins=world.plugins,
        store=world.store,
        clock=world.clock,
        plan_of=plan_of,
        environment=world.environment,
        seconds=limits.tool_seconds,
    )


def make_office(
    world: World, limits: Limits, toolbox: Toolbox, following: Following, order: GiveOrder
) -> VariableOffice:
    return VariableOffice(
        deferred=Deferred(_services(world, limits)),
        clock=world.clock,
        environment=world.environment,
        store=world.store,
        catalog=world.catalog,
        toolbox=toolbox,
        following=following,
        order=order,
    )


def make_own_tools(world: World, limits: Limits) -> OwnTools:
    """What prompts offer beside the tools of the toolbox."""
    services = _services(world, limits)
    others = together(Handoffs(world.catalog), SubagentTools(services), ChildTools())
    asked = SubPrompts(
        catalog=world.catalog,
        models=world.models,
        default_model=world.settings.model,
        limits=limits,
        hooks=Hooks(world.trees, world.clock),
        others=others,
    )
    return together(asked, others)


def _services(world: World, limits: Limits) -> Services:
    return Services(
        store=world.store,
        catalog=world.catalog,
        settings=world.settings,
        limits=limits,
        clock=world.clock,
        trees=world.trees,
        environment=world.environment,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the engine and its runner both work with."""

    feed: Feed
    following: Following
    toolbox: Toolbox
    outbox: Outbox
    roster: Roster
    arrivals: Arrivals
    windows: Windows
    artifacts: Artifacts


def _equipment(world: World, limits: Limits, parts: Parts) -> Equipment:
    return Equipment(
        planner=Planner(
            world.catalog, world.settings.model, make_own_tools(world, limits), world.skills
        ),
        following=parts.following,
        toolbox=parts.toolbox,
        models=world.models,
        clock=world.clock,
        limits=limits,
        roster=parts.roster,
        environment=world.environment,
        artifacts=parts.artifacts,
        windows=parts.windows,
    )


def make_contexts(world: World, equipment: Equipment) -> Contexts:
    """What shows people the contexts of agents."""
    return Contexts(
        store=world.store,
        equipment=equipment,
        composer=Composer(
            equipment=equipment, hooks=Hooks(world.trees, world.clock), trees=world.trees
        ),
        environment=world.environment,
    )


def make_runner(world: World, limits: Limits, parts: Parts) -> Runner:
    committer = Committer(
        store=world.store,
        clock=world.clock,
        connectors=world.connectors,
        reporter=Reporter(
            store=world.store,
            limits=limits,
            completions=Completions(store=world.store, trees=world.trees, catalog=world.catalog),
        ),
        outbox=parts.outbox,
        space=Space(world.store, world.clock),
    )
    equipment = _equipment(world, limits, parts)
    hooks = Hooks(world.trees, world.clock)
    room = RoomMaker(committer=committer, equipment=equipment)
    caller = ModelCaller(
        committer=committer,
        equipment=equipment,
        room=room,
        feed=parts.feed,
        clock=world.clock,
        random=world.random,
        boots=Boots(world.environment, world.catalog),
        hooks=hooks,
        composer=Composer(equipment=equipment, hooks=hooks, trees=world.trees),
    )
    tools = ToolRunner(
        committer=committer,
        equipment=equipment,
        tooling=Tooling(
            trees=world.trees, clock=world.clock, limits=limits, environment=world.environment
        ),
        approvals=Approvals(Desk(world.store, world.clock, limits)),
        feed=parts.feed,
        hooks=hooks,
    )
    return Runner(
        store=world.store,
        clock=world.clock,
        committer=committer,
        equipment=equipment,
        room=room,
        caller=caller,
        tools=tools,
        arrivals=parts.arrivals,
        trees=world.trees,
        hooks=hooks,
        deferred=Deferred(_services(world, limits)),
    )
