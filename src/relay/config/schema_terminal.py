"""Settings of the terminal and of what is drawn there."""

from __future__ import annotations

from relay.config.kinds import Choice, Number, OneOf, Text
from relay.config.setting import BOOLEAN, TEXT, Group, Setting

_AUTO = Choice(("auto",))

TERMINAL = Group(
    "Terminal and display",
    (
        Setting(
            "theme",
            Text(blank=False),
            "system",
            "Name of a built-in or own theme; `system` takes the terminal's colours.",
        ),
        Setting(
            "quietStartup",
            OneOf((BOOLEAN, Choice(("header",)))),
            False,
            "`true` starts without header and list of resources; `header` keeps version and key hints.",
        ),
        Setting(
            "tuiMode", Choice(("regular", "fullscreen")), "fullscreen", "Which terminal interface is used."
        ),
        Setting(
            "fullscreenExitOutput",
            Choice(("transcript", "resume-hint")),
            "transcript",
            "What stays in the terminal when fullscreen ends.",
        ),
        Setting(
            "fullscreenScrollbar",
            Choice(("auto", "always", "hidden")),
            "auto",
            "When fullscreen shows the scrollbar.",
        ),
        Setting("fullscreenCopyOnSelect", BOOLEAN, True, "Copy what is selected with the mouse at once."),
        Setting(
            "fullscreenWheelScrollLines",
            OneOf((_AUTO, Number(minimum=1, maximum=100))),
            "auto",
            "Lines that one step of the mouse wheel moves, 1 to 100. `auto` is 1 in local macOS "
            "terminals and "
            "up to 6 for fast turns elsewhere. With Alt held it is five times as much.",
        ),
        Setting(
            "editorPaddingX", Number(minimum=0, maximum=3), 0, "Cells left free beside the editor, 0 to 3."
        ),
        Setting("outputPad", Choice((0, 1)), 1, "Cells left free beside the transcript."),
        Setting("autocompleteMaxVisible", Number(minimum=3, maximum=20), 5, "Suggestions shown, 3 to 20."),
        Setting(
            "showHardwareCursor", BOOLEAN, False, "Show the terminal's cursor where input methods need it."
        ),
        Setting("terminal.showImages", BOOLEAN, True, "Draw images where the terminal can."),
        Setting("terminal.imageWidthCells", Number(minimum=1), 60, "Width of drawn images in cells."),
        Setting(
            "terminal.clearOnShrink", BOOLEAN, False, "Clear rows that become empty when content shrinks."
        ),
        Setting(
            "terminal.showTerminalProgress",
            BOOLEAN,
            False,
            "Report progress to the terminal's tab (OSC 9;4).",
        ),
        Setting(
            "terminal.hyperlinks", OneOf((BOOLEAN, _AUTO)), "auto", "Write links (OSC 8); `auto` detects it."
        ),
        Setting(
            "terminal.images",
            OneOf((Choice(("kitty", "iterm2", "auto")), Choice((False,)))),
            "auto",
            "Protocol for images; `auto` detects it, `false` draws none.",
        ),
        Setting(
            "terminal.trueColor", OneOf((BOOLEAN, _AUTO)), "auto", "Use 24-bit colours; `auto` detects it."
        ),
        Setting(
            "images.autoResize",
            BOOLEAN,
            True,
            "Shrink images to 2000 × 2000 pixels before a model gets them.",
        ),
        Setting("images.blockImages", BOOLEAN, False, "Never send images to a model."),
        Setting("markdown.codeBlockIndent", TEXT, "  ", "What stands before each line of a code block."),
        Setting(
            "markdown.mermaid",
            Choice(("off", "final", "streaming")),
            "streaming",
            "Draw mermaid diagrams never, once they are complete, or while they arrive.",
        ),
    ),
)
