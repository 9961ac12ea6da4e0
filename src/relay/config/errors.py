"""What is wrong with a configuration file or value.

ConfigError         a file that cannot be changed or a value that does not fit
└── UnknownSetting  no setting has this name
"""

from __future__ import annotations

from relay.base.errors import RelayError


class ConfigError(RelayError):
    """The text names the file and key and says what would be right."""


class UnknownSetting(ConfigError):
    """`near` holds the names of existing settings that look alike, best first."""

    def __init__(self, key: str, near: tuple[str, ...]) -> None:
        hint = f" Did you mean {' or '.join(near)}?" if near else " `relay config list` shows all settings."
        super().__init__(f"There is no setting named {key!r}.{hint}")
        self.key = key
        self.near = near
