"""The composition root: puts the owners of a session together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from relay.agent.events import EventBus
from relay.agent.hooks import Hooks
from relay.ai.model import Model
from relay.ai.patterns import available_models
from relay.ai.wire.base import CallOptions
from relay.base.processes import ProcessTracker
from relay.config.context_files import find_context_files
from relay.config.settings import Settings
from relay.config.system_prompt_files import PromptFolders, find_system_prompt
from relay.runtime.desk import SessionDesk
from relay.runtime.inbox import Inbox
from relay.runtime.live import LiveSession
from relay.runtime.model_choice import ModelChoice
from relay.runtime.policies import RetryLimits, RetryPolicy
from relay.runtime.prompter import Prompter
from relay.runtime.provider import ModelProvider, SessionProvider
from relay.runtime.record import SessionRecord
from relay.runtime.run import Runner
from relay.runtime.start import StartOptions
from relay.runtime.startup_model import StartModel, choose_model
from relay.runtime.startup_session import MakeLog, open_log
from relay.runtime.surroundings import Report, Surroundings, look_around
from relay.runtime.system_prompt import PromptSources
from relay.runtime.toolbox import build_tools, choose_tools, shell_options
from relay.runtime.user_shell import UserShell
from relay.session.log import SessionLog


async def open_session(
    options: StartOptions,
    report: Report,
    *,
    provider: ModelProvider | None = None,
    make_log: MakeLog = open_log,
) -> LiveSession:
    """A session ready to be prompted; `provider` replaces the network, `make_log` what the options say of
    the session. Raises RelayError."""
    around = look_around(options, report)
    log = make_log(options, around, report)
    calls = provider or SessionProvider(around, options.environ)
    try:
        start = choose_model(options.model, around, log.projection, report)
        await calls.check(start.model)
        return await _assemble(options, around, log, start, report=report, calls=calls)
    except BaseException:
        log.close()
        raise


async def _assemble(
    options: StartOptions,
    around: Surroundings,
    log: SessionLog,
    start: StartModel,
    *,
    report: Report,
    calls: ModelProvider,
) -> LiveSession:
    settings, bus, hooks, tracker = around.settings, EventBus(), Hooks(), ProcessTracker()
    record = SessionRecord(log, bus)
    choice = _choice(bus, record, start, settings)
    inbox = Inbox(bus, steering_mode=settings.steering_mode, follow_up_mode=settings.follow_up_mode)
    commands = shell_options(settings, tracker, partial(_shell_environment, record, choice))
    tools = choose_tools(build_tools(options.cwd, settings, commands), settings, options.tools, report)
    calling = _call_options(options, settings)
    desk = SessionDesk(choice, inbox, record, provider=calls, hooks=hooks, tools=tools, options=calling)
    retry = RetryPolicy(_limits(settings))
    runner = Runner(bus, hooks, desk, journal=record, retry=retry)
    shell = UserShell(bus, runner, record, options.cwd, commands)
    prompter = Prompter(runner, inbox, record, sources=_sources(options, around, report), tools=lambda: tools)
    await _record_start(options, log, record, choice)
    return LiveSession(
        settings,
        bus,
        runner,
        inbox,
        choice,
        record,
        prompter,
        retry,
        shell,
        available=partial(_available, around),
        close=partial(_close, runner, shell, tracker, calls, record),
        kill=tracker.kill_all,
    )


async def _available(around: Surroundings) -> Sequence[Model]:
    return available_models(around.catalog, around.credentials.has)


async def _close(
    runner: Runner, shell: UserShell, tracker: ProcessTracker, calls: ModelProvider, record: SessionRecord
) -> bool:
    runner.abort()
    shell.abort()
    try:
        await runner.settled()
        await shell.settled()
    finally:  # also after a run that broke
        tracker.kill_all()
        await calls.aclose()
        saved = record.close()
    return saved


def _choice(bus: EventBus, record: SessionRecord, start: StartModel, settings: Settings) -> ModelChoice:
    return ModelChoice(
        bus,
        record,
        model=start.model,
        wanted=start.level,
        per_model=settings.model_thinking_levels,
        scope=start.scope,
    )


async def _record_start(
    options: StartOptions, log: SessionLog, record: SessionRecord, choice: ModelChoice
) -> None:
    """Writes what is new against the session as it was found: its name, the model, the level."""
    past = log.projection
    if options.session.name and options.session.name != log.name:
        await record.rename(options.session.name)
    if past.model is None or tuple(past.model) != (choice.model.provider, choice.model.id):
        await record.model_changed(choice.model.provider, choice.model.id)
    if past.thinking_level != choice.thinking:
        await record.thinking_changed(choice.thinking)


def _limits(settings: Settings) -> RetryLimits:
    retry = settings.retry
    return RetryLimits(
        enabled=retry.enabled,
        max_retries=retry.max_retries,
        base_delay_ms=retry.base_delay_ms,
        max_delay_ms=retry.max_agent_delay_ms,
        max_server_delay_ms=retry.provider.max_retry_delay_ms,
    )


def _call_options(options: StartOptions, settings: Settings) -> CallOptions:
    return CallOptions(
        thinking_budgets=dict(settings.thinking_budgets),
        cache_retention="long" if options.environ.get("RELAY_CACHE_RETENTION") == "long" else "short",
        block_images=settings.images.block_images,
        attribution=_switch(options.environ.get("RELAY_TELEMETRY"), settings.enable_install_telemetry),
    )


def _switch(said: str | None, setting: bool) -> bool:
    """A setting that a variable may override; a variable that says neither yes nor no changes nothing."""
    word = (said or "").strip().lower()
    return word in ("1", "true", "yes") or (setting and word not in ("0", "false", "no"))


def _sources(options: StartOptions, around: Surroundings, report: Report) -> PromptSources:
    folders = PromptFolders(cwd=options.cwd, agent=around.agent, project=around.project, home=around.home)
    texts = find_system_prompt(folders, system=options.system_prompt, append=options.append_system_prompt)
    found = find_context_files(options.cwd, around.agent) if options.context_files else None
    for problem in (*texts.problems, *(found.problems if found else ())):
        report(problem)
    return PromptSources(
        cwd=options.cwd,
        preamble=texts.preamble,
        addenda=texts.addenda,
        context_files=found.files if found else (),
    )


def _shell_environment(record: SessionRecord, choice: ModelChoice) -> dict[str, str]:
    """What commands learn about the session they run in, as it is when they start."""
    variables = {
        "RELAY_CODING_AGENT": "true",
        "RELAY_SESSION_ID": record.id,
        "RELAY_PROVIDER": choice.model.provider,
        "RELAY_MODEL": choice.model.id,
        "RELAY_REASONING_LEVEL": choice.thinking,
    }
    if record.file is not None:
        variables["RELAY_SESSION_FILE"] = str(record.file)
    return variables
