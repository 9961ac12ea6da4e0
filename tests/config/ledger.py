"""For each setting that is in use: who reads it, and the test that fails if it is ignored.

A setting that does not stand here is "later". After an edit: `python -m tests.config.documents`.
"""

from __future__ import annotations

from relay.config.document import LedgerRow

LEDGER: dict[str, LedgerRow] = {
    "defaultProjectTrust": LedgerRow(
        "relay.config.startup",
        "tests/cli/test_config_command.py::test_default_project_trust_decides_what_counts",
    ),
}
