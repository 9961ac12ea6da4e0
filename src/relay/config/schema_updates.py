"""Settings of updates, telemetry and warnings."""

from __future__ import annotations

from relay.config.setting import BOOLEAN, Group, Setting

UPDATES = Group(
    "Updates, telemetry, and warnings",
    (
        Setting("collapseChangelog", BOOLEAN, False, "Show a short list of changes after an update."),
        Setting(
            "enableInstallTelemetry",
            BOOLEAN,
            True,
            "Name Relay in the headers of providers that count applications, such as OpenRouter. "
            "Update checks "
            "do not depend on it.",
        ),
        Setting(
            "enableAnalytics", BOOLEAN, False, "Share usage data; only the first-run set-up asks for it."
        ),
        Setting(
            "warnings.anthropicExtraUsage",
            BOOLEAN,
            True,
            "Warn when signing in with an Anthropic subscription may cost extra.",
        ),
    ),
)
