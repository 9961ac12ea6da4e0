"""Settings of the tools that are declared to the model."""

from __future__ import annotations

from relay.config.kinds import Choice, Listing, Text
from relay.config.setting import COUNT, Group, Setting

TOOLS = Group(
    "Tools",
    (
        Setting(
            "defaultTools",
            Listing(Text(blank=False), independent=True),
            ("read", "bash", "edit", "write"),
            "Tools that are active at the start. Plain names are the whole selection, `+name` adds to it and "
            "`-name` takes away, in order. An empty list leaves only tools of extensions and of the SDK.",
            combine="selection",
        ),
        Setting(
            "codemode.mode",
            Choice(("on", "only")),
            "on",
            "With `on`, `codemode` stands beside the declared tools; with `only`, it is the one way "
            "to all of them.",
        ),
        Setting(
            "codemode.inlineBudget",
            COUNT,
            3000,
            "Estimated tokens (characters / 4) that `codemode` spends on describing tools; what does "
            "not fit is "
            "found with `searchTools()`. `0` lists namespaces only.",
        ),
    ),
    "Built-in tools: `read`, `bash`, `powershell`, `edit`, `write`, `grep`, `find`, `ls`. `codemode`, "
    "`tool_search` and inactive tools of extensions can be named too. A project's list that holds "
    "only `+name` "
    "and `-name` changes the user's selection; one with a plain name replaces it. `--tools`, "
    "`--no-tools` and "
    "`--no-builtin-tools` go before this setting.",
)
