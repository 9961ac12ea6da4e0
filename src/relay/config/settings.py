"""The settings as the program reads them: frozen structs nested as in settings.json.

Defaults stand in the schema alone; `loading.default_settings` gives them in this shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import field

from relay.config.resources import PackageSource, Resource

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
Delivery = Literal["all", "one-at-a-time"]
ProjectTrust = Literal["ask", "always", "never"]


class Section(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all of them: camelCase names in the file, snake_case here."""


class Codemode(Section, frozen=True):
    mode: Literal["on", "only"]
    inline_budget: int


class CompactionOverride(Section, frozen=True):
    """Values for one model; None is not set."""

    reserve_tokens: int | None = None
    keep_recent_tokens: int | None = None
    preserve_recent: int | None = field(default=None, name="preserve_recent")


class Compaction(Section, frozen=True):
    enabled: bool
    strategy: Literal["verbatim", "summary"]
    reserve_tokens: int
    keep_recent_tokens: int
    compression_ratio: float = field(name="compression_ratio")
    preserve_recent: int = field(name="preserve_recent")
    query: str | None
    background: bool
    background_threshold_percent: float
    planning_timeout_ms: int
    """0: no limit."""
    history_recall: bool
    model_overrides: Mapping[str, CompactionOverride]

    def for_model(self, model: str) -> Compaction:
        """These settings with the override of `model` (exactly `provider/modelId`) put in, value by value."""
        override = self.model_overrides.get(model)
        if override is None:
            return self
        values = {name: getattr(override, name) for name in override.__struct_fields__}
        return msgspec.structs.replace(self, **{k: v for k, v in values.items() if v is not None})


class HarnessCore(Section, frozen=True):
    alignment: bool
    authorization_gate: bool
    scope_guard: bool
    evidence: bool
    context: bool
    context_keep_recent: int
    context_batch_size: int
    skills: bool
    verify_commands: tuple[str, ...]
    max_changed_lines: int
    max_file_lines: int


class Laya(Section, frozen=True):
    base_url: str | None
    autostart: bool
    python: str | None
    policy: Literal["economy", "balanced", "quality", "critical"]
    models: Mapping[str, tuple[str, ...]]
    quota: Mapping[str, float]
    min_confidence: float
    escalate_after_failures: int
    tool_routing: Literal["advise", "enforce"]
    telemetry: bool
    timeout_ms: int


class BranchSummary(Section, frozen=True):
    reserve_tokens: int
    skip_prompt: bool


class Terminal(Section, frozen=True):
    show_images: bool
    image_width_cells: int
    clear_on_shrink: bool
    show_terminal_progress: bool
    hyperlinks: bool | Literal["auto"]
    images: bool | Literal["kitty", "iterm2", "auto"]
    """False: none; True does not occur."""
    true_color: bool | Literal["auto"]


class Images(Section, frozen=True):
    auto_resize: bool
    block_images: bool


class Markdown(Section, frozen=True):
    code_block_indent: str
    mermaid: Literal["off", "final", "streaming"]


class RetryProvider(Section, frozen=True):
    timeout_ms: int | None
    """None: as long as `http_idle_timeout_ms`; see `Settings.provider_timeout_ms`."""
    max_retries: int
    max_retry_delay_ms: int
    """0: no limit."""


class Retry(Section, frozen=True):
    enabled: bool
    max_retries: int
    base_delay_ms: int
    max_agent_delay_ms: int
    provider: RetryProvider


class Warnings(Section, frozen=True):
    anthropic_extra_usage: bool


class Settings(Section, frozen=True):
    """Every setting, checked. None means that Relay finds the value itself; a timeout of 0 means no limit."""

    default_provider: str | None
    default_model: str | None
    default_thinking_level: ThinkingLevel
    model_thinking_levels: Mapping[str, ThinkingLevel]
    thinking_budgets: Mapping[str, int]
    enabled_models: tuple[str, ...] | None
    hide_thinking_block: bool
    show_cache_miss_notices: bool
    cache_warming: Literal["off", "streaming", "idle"]

    steering_mode: Delivery
    follow_up_mode: Delivery
    external_editor: str | None
    double_escape_action: Literal["tree", "fork", "none"]
    tree_filter_mode: Literal["default", "no-tools", "user-only", "labeled-only", "all"]
    default_project_trust: ProjectTrust

    default_tools: tuple[str, ...]
    """Plain names, then the `+name` and `-name` of both files, which may be about tools of extensions."""
    codemode: Codemode

    session_dir: str | None
    compaction: Compaction
    compaction_model: str
    """`auto` or `provider/modelId`."""
    fallback_models: tuple[str, ...]
    harness_core: HarnessCore
    laya: Laya
    branch_summary: BranchSummary

    theme: str
    quiet_startup: bool | Literal["header"]
    tui_mode: Literal["regular", "fullscreen"]
    fullscreen_exit_output: Literal["transcript", "resume-hint"]
    fullscreen_scrollbar: Literal["auto", "always", "hidden"]
    fullscreen_copy_on_select: bool
    fullscreen_wheel_scroll_lines: int | Literal["auto"]
    editor_padding_x: int
    output_pad: Literal[0, 1]
    autocomplete_max_visible: int
    show_hardware_cursor: bool
    terminal: Terminal
    images: Images
    markdown: Markdown

    transport: Literal["auto", "sse", "websocket", "websocket-cached"]
    http_proxy: str | None
    http_idle_timeout_ms: int
    websocket_connect_timeout_ms: int
    retry: Retry

    shell_path: str | None
    shell_command_prefix: str | None
    npm_command: tuple[str, ...]

    packages: tuple[PackageSource, ...]
    extensions: tuple[Resource, ...]
    skills: tuple[Resource, ...]
    prompts: tuple[Resource, ...]
    themes: tuple[Resource, ...]
    enable_skill_commands: bool

    collapse_changelog: bool
    enable_install_telemetry: bool
    enable_analytics: bool
    warnings: Warnings

    @property
    def provider_timeout_ms(self) -> int:
        """Milliseconds one request to a provider may take; 0: no limit."""
        own = self.retry.provider.timeout_ms
        return self.http_idle_timeout_ms if own is None else own
