"""Settings of the model, its thinking and the prompt cache."""

from __future__ import annotations

from relay.config.kinds import Choice, Listing, Number, Table, Text
from relay.config.setting import BOOLEAN, TEXT, THINKING_LEVEL, Group, Setting

MODEL = Group(
    "Model and thinking",
    (
        Setting(
            "defaultProvider", TEXT, None, "Provider to start with.", automatic="found by what can be used"
        ),
        Setting("defaultModel", TEXT, None, "Model id to start with.", automatic="found by what can be used"),
        Setting("defaultThinkingLevel", THINKING_LEVEL, "medium", "Thinking level to start with."),
        Setting(
            "modelThinkingLevels",
            Table(THINKING_LEVEL),
            {},
            "Thinking level to start with for single models; the keys are exact `provider/modelId` names.",
            combine="merge",
        ),
        Setting(
            "thinkingBudgets",
            Table(Number(minimum=1), names=("minimal", "low", "medium", "high")),
            {},
            "Tokens that the levels `minimal`, `low`, `medium` and `high` may think for, "
            "where a provider counts them.",
            automatic="each adapter's own",
            combine="merge",
        ),
        Setting(
            "enabledModels",
            Listing(Text(blank=False), independent=True),
            None,
            "Patterns of the models to choose from at the start and to cycle through, written as for "
            "`--models`.",
            automatic="all usable models",
        ),
        Setting("hideThinkingBlock", BOOLEAN, False, "Leave the model's thinking out of the transcript."),
        Setting(
            "showCacheMissNotices",
            BOOLEAN,
            False,
            "Tell of costly cache misses, of caches kept warm, of what compaction used and of "
            "provider recovery.",
        ),
        Setting(
            "cacheWarming",
            Choice(("off", "streaming", "idle")),
            "streaming",
            "Keep the provider's prompt cache alive while the agent runs, with `idle` also between runs.",
            global_only=True,
        ),
    ),
    "A cache is kept warm only for models that state how long theirs lives, and only where at least "
    "$0.05 are "
    "expected to be saved. What it costs counts towards the session; the model never sees it.",
)
