"""Settings of the harness core and of the Laya router."""

from __future__ import annotations

from relay.config.kinds import Choice, Listing, Table, Text
from relay.config.setting import BOOLEAN, COUNT, SHARE, Group, Setting

HARNESS = Group(
    "Harness core",
    (
        Setting(
            "harnessCore.alignment",
            BOOLEAN,
            True,
            "Note the developer's constraints and repeat them with every request; the next two need it.",
        ),
        Setting(
            "harnessCore.authorizationGate",
            BOOLEAN,
            True,
            "Commands that destroy something or reach outside need permission.",
        ),
        Setting(
            "harnessCore.scopeGuard",
            BOOLEAN,
            True,
            "Hold back the first edit of a turn in which only a question was asked.",
        ),
        Setting(
            "harnessCore.evidence",
            BOOLEAN,
            True,
            "Ask once for a check when the agent reports success and no check has passed.",
        ),
        Setting(
            "harnessCore.context",
            BOOLEAN,
            True,
            "Leave old, large tool results out of requests and repeat a short account of progress.",
        ),
        Setting("harnessCore.contextKeepRecent", COUNT, 6, "Newest tool results that are always sent whole."),
        Setting(
            "harnessCore.contextBatchSize",
            COUNT,
            6,
            "Old results that are left out together, so that the prompt cache stays valid longer.",
        ),
        Setting("harnessCore.skills", BOOLEAN, True, "Measure for `/harness` what skills use."),
        Setting(
            "harnessCore.verifyCommands",
            Listing(Text(blank=False)),
            (),
            "Commands that check this project. Where set, nothing else counts as a check.",
        ),
        Setting(
            "harnessCore.maxChangedLines",
            COUNT,
            500,
            "Lines one request may change before the agent is asked to check and report; `0` "
            "switches it off. "
            "Needs a git repository.",
        ),
        Setting(
            "harnessCore.maxFileLines",
            COUNT,
            1000,
            "Length from which an edit that makes a file longer (past it, or by 200 lines) is pointed out; "
            "`0` switches it off.",
        ),
    ),
    "A change takes effect in the next new session.",
)

LAYA = Group(
    "Laya router",
    (
        Setting(
            "laya.baseUrl",
            Text(blank=False),
            None,
            "Address of the Laya System One server.",
            automatic="`LAYA_BASE_URL`, else `http://127.0.0.1:8000/v1`",
        ),
        Setting(
            "laya.autostart",
            BOOLEAN,
            True,
            "Offer to install Laya at first use and start its local server when a request needs it.",
        ),
        Setting(
            "laya.python",
            Text(blank=False),
            None,
            "Python (3.10 to 3.13) from which Laya's environment is made.",
            automatic="the first of `python3`, `python`, `py`",
        ),
        Setting(
            "laya.policy",
            Choice(("economy", "balanced", "quality", "critical")),
            "balanced",
            "How cost weighs against quality. `--laya-policy` and `/laya policy` go before it.",
        ),
        Setting(
            "laya.models",
            Table(Listing(Text(blank=False)), names=("fast", "balanced", "strong", "frontier")),
            {},
            "Models of each tier (`fast`, `balanced`, `strong`, `frontier`), best first, as "
            "`provider/model`. A "
            "tier given here replaces the built-in one.",
            automatic="built-in tiers",
            combine="merge",
        ),
        Setting(
            "laya.quota",
            Table(SHARE),
            {},
            "How much of each provider's quota is left, from 0 to 1.",
            automatic="`1` for each provider",
            combine="merge",
        ),
        Setting("laya.minConfidence", SHARE, 0.5, "An answer less certain than this goes one tier up."),
        Setting(
            "laya.escalateAfterFailures",
            COUNT,
            3,
            "Failed tool calls in one turn after which the next tier takes over; `0` switches it off.",
        ),
        Setting(
            "laya.toolRouting",
            Choice(("advise", "enforce")),
            "advise",
            "Name the tools that a request does not need, or also deactivate them for it.",
        ),
        Setting(
            "laya.telemetry",
            BOOLEAN,
            True,
            "Note each routed request in `laya/telemetry.jsonl` in the agent directory.",
        ),
        Setting(
            "laya.timeoutMs", COUNT, 5000, "Milliseconds after which keyword rules answer for the classifier."
        ),
    ),
    "For the model `laya/auto`.",
)
