"""For each setting that is in use: who reads it, and the test that fails if it is ignored.

A setting that does not stand here is "later". After an edit: `python -m tests.config.documents`.
"""

from __future__ import annotations

from relay.config.document import LedgerRow

CHOICE = "relay.runtime.startup_model"
ASSEMBLY = "relay.runtime.assembly"
PROVIDER = "relay.runtime.provider"
TOOLBOX = "relay.runtime.toolbox"
STARTS = "tests/runtime/test_startup_model.py::"
RUNS = "tests/runtime/test_settings.py::"

LEDGER: dict[str, LedgerRow] = {
    "defaultProvider": LedgerRow(CHOICE, STARTS + "test_the_default_provider_decides"),
    "defaultModel": LedgerRow(CHOICE, STARTS + "test_the_default_model_decides"),
    "defaultThinkingLevel": LedgerRow(
        CHOICE, STARTS + "test_the_default_thinking_level_holds_where_nothing_else_does"
    ),
    "modelThinkingLevels": LedgerRow(CHOICE, STARTS + "test_a_models_own_level_comes_before_the_default_one"),
    "thinkingBudgets": LedgerRow(ASSEMBLY, RUNS + "test_thinking_budgets_are_sent"),
    "enabledModels": LedgerRow(
        CHOICE, STARTS + "test_enabled_models_are_the_scope_where_no_option_says_otherwise"
    ),
    "steeringMode": LedgerRow(ASSEMBLY, RUNS + "test_waiting_messages_are_delivered_as_the_settings_say"),
    "followUpMode": LedgerRow(ASSEMBLY, RUNS + "test_waiting_messages_are_delivered_as_the_settings_say"),
    "defaultProjectTrust": LedgerRow(
        "relay.config.startup", RUNS + "test_a_projects_settings_count_where_it_is_trusted"
    ),
    "defaultTools": LedgerRow(TOOLBOX, RUNS + "test_the_default_tools_are_declared"),
    "sessionDir": LedgerRow(
        "relay.runtime.startup_session", RUNS + "test_sessions_are_kept_where_the_settings_say"
    ),
    "images.autoResize": LedgerRow(TOOLBOX, RUNS + "test_images_are_made_smaller_unless_the_settings_say_no"),
    "images.blockImages": LedgerRow(ASSEMBLY, RUNS + "test_images_are_kept_back_where_the_settings_say_so"),
    "httpProxy": LedgerRow(PROVIDER, RUNS + "test_the_proxy_of_the_settings_is_used"),
    "httpIdleTimeoutMs": LedgerRow(
        PROVIDER, RUNS + "test_a_silent_server_is_given_up_after_the_idle_timeout"
    ),
    "retry.enabled": LedgerRow(ASSEMBLY, RUNS + "test_retrying_can_be_turned_off"),
    "retry.maxRetries": LedgerRow(ASSEMBLY, RUNS + "test_the_agent_tries_again_as_often_as_the_settings_say"),
    "retry.baseDelayMs": LedgerRow(ASSEMBLY, RUNS + "test_waits_start_with_the_base_delay_and_double"),
    "retry.maxAgentDelayMs": LedgerRow(ASSEMBLY, RUNS + "test_the_agents_own_wait_has_a_limit"),
    "retry.provider.timeoutMs": LedgerRow(
        PROVIDER, RUNS + "test_an_answer_must_begin_within_the_providers_timeout"
    ),
    "retry.provider.maxRetries": LedgerRow(
        PROVIDER, RUNS + "test_requests_are_repeated_below_the_agent_as_often_as_the_settings_say"
    ),
    "retry.provider.maxRetryDelayMs": LedgerRow(
        ASSEMBLY, RUNS + "test_a_server_may_ask_for_no_longer_wait_than_the_settings_allow"
    ),
    "shellPath": LedgerRow(
        TOOLBOX, RUNS + "test_commands_run_in_the_shell_and_behind_the_prefix_of_the_settings"
    ),
    "shellCommandPrefix": LedgerRow(
        TOOLBOX, RUNS + "test_commands_run_in_the_shell_and_behind_the_prefix_of_the_settings"
    ),
    "enableInstallTelemetry": LedgerRow(
        ASSEMBLY, RUNS + "test_the_provider_learns_the_programs_name_only_where_that_is_wanted"
    ),
}
