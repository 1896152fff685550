"""What an engine is made of, and how its parts are put together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from retinue.clock import Clock
from retinue.engine.agent.limits import Limits
from retinue.engine.calls.approvals import Approvals
from retinue.engine.calls.plugin_calls import Operations
from retinue.engine.calls.tool_call import ToolCalls
from retinue.engine.collaboration.collaboration_tools import collaboration_tools
from retinue.engine.collaboration.services import CollaborationServices
from retinue.engine.feed.crash_quarantine import CrashQuarantine
from retinue.engine.feed.disk_full import DiskFullGate
from retinue.engine.feed.event_feed import Feed
from retinue.engine.feed.fast_admission import FastAdmission
from retinue.engine.feed.outbox import Deliver, Outbox
from retinue.engine.hooks import Hooks
from retinue.engine.panels.panel_tools import panel_tools
from retinue.engine.panels.windows import Windows
from retinue.engine.prompting.permanent_directory import PermanentDirectory
from retinue.engine.prompting.prompt_config import OwnTools, PromptConfigs, together
from retinue.engine.prompting.prompt_sources import Artifacts, NoSkills, Skills
from retinue.engine.prompting.step_setup import StepSetup
from retinue.engine.prompting.turn_snapshots import TurnSnapshots
from retinue.engine.requests.ask import AskDesk
from retinue.engine.rules.context_room import ContextRoom
from retinue.engine.scheduling.schedule_service import Schedules
from retinue.engine.scheduling.schedule_tools import schedule_tools
from retinue.engine.scheduling.watch_checks import Probe
from retinue.engine.subagents.deferred import Deferred
from retinue.engine.subagents.immediate import Boots
from retinue.engine.subagents.parent_tools import ChildTools
from retinue.engine.subagents.sub_prompts import SubPrompts
from retinue.engine.subagents.subagent_tools import SubagentTools
from retinue.engine.subagents.variable_service import GiveCommand, VariableService
from retinue.engine.turn.command_runner import CommandRunner
from retinue.engine.turn.committing import Committer
from retinue.engine.turn.completion import Completion
from retinue.engine.turn.completion_notices import Reporter
from retinue.engine.turn.context_preview import ContextPreviews
from retinue.engine.turn.context_window import ContextWindow
from retinue.engine.turn.model_call import ModelCalls
from retinue.engine.turn.request_builder import RequestBuilder
from retinue.engine.turn.runner import Runner
from retinue.engine.turn.subagent_completion import Completions
from retinue.engine.turn.tool_batch import ToolBatches
from retinue.engine.turn.view import TurnViews
from retinue.engine.variables.values import Environment
from retinue.engine.writes.handoff import handoffs
from retinue.models.port import Models
from retinue.project.watcher import ProjectWatcher
from retinue.settings import Settings
from retinue.stores.port import Store
from retinue.stores.schedule_port import ScheduleStore
from retinue.tools.function_tool import builtin_listing
from retinue.tools.port import FileTrees, Tool, ToolServer


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything that an engine works with; the composition root fills it in."""

    store: Store
    schedules: ScheduleStore
    probe: Probe  # looks at what schedules watch
    models: Models
    project: ProjectWatcher
    settings: Settings
    clock: Clock
    trees: FileTrees
    environment: Environment
    connectors: Mapping[str, Deliver] = field(default_factory=dict[str, Deliver])
    random: Random = field(default_factory=Random)
    skills: Skills = field(default_factory=NoSkills)
    windows: Windows | None = None  # where plugins show something; the engine's own, if left out
    servers: Callable[[], Sequence[ToolServer]] = tuple  # programs outside that bring tools
    collaborates: bool = True  # agents get the tools with which they work together


def make_schedules(world: World) -> Schedules:
    return Schedules(
        store=world.store,
        schedules=world.schedules,
        project=world.project,
        settings=world.settings,
        probe=world.probe,
        clock=world.clock,
    )


def make_tools(
    world: World, limits: Limits, schedules: Schedules, windows: Windows
) -> Mapping[str, Tool]:
    """The engine's own tools."""
    if not world.collaborates:
        return {}
    services = _services(world, limits)
    return builtin_listing(
        [*collaboration_tools(services), *schedule_tools(schedules), *panel_tools(windows)]
    )


def make_operations(world: World, limits: Limits, setup: StepSetup) -> Operations:
    return Operations(
        project=world.project,
        snapshots=setup.snapshots,
        store=world.store,
        clock=world.clock,
        config_of=setup.config_of,
        environment=world.environment,
        seconds=limits.tool_seconds,
    )


def make_office(world: World, limits: Limits, command: GiveCommand) -> VariableService:
    return VariableService(
        deferred=Deferred(_services(world, limits)),
        clock=world.clock,
        environment=world.environment,
        store=world.store,
        project=world.project,
        command=command,
    )


def make_own_tools(world: World, limits: Limits) -> OwnTools:
    """What prompts offer beside the tools of the toolbox."""
    services = _services(world, limits)
    others = together(handoffs, SubagentTools(services), ChildTools())
    asked = SubPrompts(
        models=world.models,
        default_model=world.settings.model,
        limits=limits,
        hooks=Hooks(world.trees, world.clock, limits),
        others=others,
    )
    return together(asked, others)


def _services(world: World, limits: Limits) -> CollaborationServices:
    return CollaborationServices(
        store=world.store,
        project=world.project,
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
    snapshots: TurnSnapshots
    outbox: Outbox
    directory: PermanentDirectory
    fast_admission: FastAdmission
    windows: Windows
    artifacts: Artifacts
    quarantine: CrashQuarantine


def make_setup(world: World, limits: Limits, parts: Parts) -> StepSetup:
    return StepSetup(
        configs=PromptConfigs(world.settings.model, make_own_tools(world, limits), world.skills),
        snapshots=parts.snapshots,
        models=world.models,
        limits=limits,
        directory=parts.directory,
        environment=world.environment,
        artifacts=parts.artifacts,
        windows=parts.windows,
    )


def make_contexts(world: World, limits: Limits, setup: StepSetup) -> ContextPreviews:
    """What shows people the contexts of agents."""
    return ContextPreviews(
        store=world.store,
        project=world.project,
        setup=setup,
        composer=RequestBuilder(
            setup=setup, hooks=Hooks(world.trees, world.clock, setup.limits), trees=world.trees
        ),
        room=ContextRoom(limits),
        environment=world.environment,
    )


def _completion(world: World, limits: Limits, parts: Parts, committer: Committer) -> Completion:
    completions = Completions(store=world.store, trees=world.trees, snapshots=parts.snapshots)
    reporter = Reporter(store=world.store, limits=limits, completions=completions)
    return Completion(committer=committer, reporter=reporter)


def _tool_calls(world: World, limits: Limits) -> ToolCalls:
    return ToolCalls(
        trees=world.trees, clock=world.clock, limits=limits, environment=world.environment
    )


def make_runner(world: World, limits: Limits, parts: Parts) -> Runner:
    committer = Committer(
        store=world.store,
        clock=world.clock,
        connectors=world.connectors,
        outbox=parts.outbox,
        disk=DiskFullGate(world.store, world.clock),
    )
    setup = make_setup(world, limits, parts)
    hooks = Hooks(world.trees, world.clock, limits)
    completion = _completion(world, limits, parts, committer)
    boots = Boots(world.environment)
    room = ContextRoom(limits)
    caller = ModelCalls(
        committer=committer,
        completion=completion,
        setup=setup,
        room=room,
        feed=parts.feed,
        clock=world.clock,
        random=world.random,
        hooks=hooks,
        composer=RequestBuilder(setup=setup, hooks=hooks, trees=world.trees),
    )
    tools = ToolBatches(
        committer=committer,
        completion=completion,
        setup=setup,
        tooling=_tool_calls(world, limits),
        approvals=Approvals(AskDesk(world.store, world.clock, limits)),
        feed=parts.feed,
        hooks=hooks,
    )
    window = ContextWindow(committer=committer, completion=completion, setup=setup, room=room)
    commands = CommandRunner(
        store=world.store,
        committer=committer,
        completion=completion,
        setup=setup,
        room=window,
        hooks=hooks,
        deferred=Deferred(_services(world, limits)),
    )
    return Runner(
        clock=world.clock,
        committer=committer,
        completion=completion,
        quarantine=parts.quarantine,
        views=TurnViews(setup=setup, room=room, boots=boots, clock=world.clock),
        boots=boots,
        setup=setup,
        room=window,
        caller=caller,
        tools=tools,
        fast_admission=parts.fast_admission,
        trees=world.trees,
        hooks=hooks,
        commands=commands,
    )
