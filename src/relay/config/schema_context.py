"""Settings of sessions, compaction and branch summaries."""

from __future__ import annotations

from relay.config.kinds import Choice, Listing, Number, Record, Table, Text, Timeout
from relay.config.setting import BOOLEAN, COUNT, TEXT, Group, Setting

SESSIONS = Group(
    "Sessions and context",
    (
        Setting(
            "sessionDir",
            Text(blank=False),
            None,
            "Folder of the session files; a relative path starts at the working directory. "
            "`--session-dir` and "
            "`RELAY_CODING_AGENT_SESSION_DIR` go before it. The one project setting that is read "
            "without trust.",
            automatic="`sessions` in the agent directory",
        ),
    ),
)

COMPACTION = Group(
    "Compaction",
    (
        Setting("compaction.enabled", BOOLEAN, True, "Compact by itself when the context runs full."),
        Setting(
            "compaction.strategy",
            Choice(("verbatim", "summary")),
            "verbatim",
            "Delete the least useful lines and keep the others word for word, or have the model "
            "write a summary.",
        ),
        Setting(
            "compaction.reserveTokens", COUNT, 16384, "Tokens of the context window kept free for the answer."
        ),
        Setting(
            "compaction.keepRecentTokens",
            COUNT,
            20000,
            "Newest part of the conversation, in tokens, that a summary leaves as it is.",
        ),
        Setting(
            "compaction.compression_ratio",
            Number(minimum=0, maximum=1, whole=False, open=True),
            0.5,
            "Share of the lines that verbatim compaction keeps.",
        ),
        Setting(
            "compaction.preserve_recent",
            COUNT,
            2,
            "Newest messages, by number, that verbatim compaction leaves as they are.",
        ),
        Setting(
            "compaction.query",
            TEXT,
            None,
            "What the kept lines should be good for.",
            automatic="the last message of the user",
        ),
        Setting(
            "compaction.background", BOOLEAN, True, "Prepare a compaction while the agent goes on working."
        ),
        Setting(
            "compaction.backgroundThresholdPercent",
            Number(minimum=1, maximum=100, whole=False),
            75,
            "Share of the context window, in percent, from which a background compaction is prepared.",
        ),
        Setting(
            "compaction.planningTimeoutMs",
            Timeout(),
            300_000,
            "Time for planning an automatic compaction, over all models tried, in milliseconds.",
        ),
        Setting(
            "compaction.historyRecall",
            BOOLEAN,
            True,
            "Point the model to what was compacted away, so that it can search and read it.",
        ),
        Setting(
            "compaction.modelOverrides",
            Table(
                Record((("reserveTokens", COUNT), ("keepRecentTokens", COUNT), ("preserve_recent", COUNT)))
            ),
            {},
            "`reserveTokens`, `keepRecentTokens` and `preserve_recent` for single models; the keys are exact "
            "`provider/modelId` names.",
            combine="merge",
        ),
        Setting(
            "compactionModel",
            TEXT,
            "auto",
            "Model that compacts: `auto` (also an empty text) for the session's own, or an exact "
            "`provider/modelId`.",
        ),
        Setting(
            "fallbackModels",
            Listing(Text(blank=False), independent=True),
            (),
            "Models that compact, in this order, when the chosen one fails: "
            "`provider/model[:thinkingLevel]`.",
        ),
    ),
    "Token values are whole numbers from 0 up. Each is looked up on its own: the override of the "
    "model in use, "
    "the ordinary setting, the default. A value that does not fit is reported once and counts as not set.",
)

BRANCHES = Group(
    "Branch summaries",
    (
        Setting(
            "branchSummary.reserveTokens", COUNT, 16384, "Tokens kept free when a left branch is summarised."
        ),
        Setting(
            "branchSummary.skipPrompt",
            BOOLEAN,
            False,
            "Do not ask for a summary of a left branch; make none.",
        ),
    ),
)
