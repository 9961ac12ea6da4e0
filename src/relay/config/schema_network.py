"""Settings of connections and retries."""

from __future__ import annotations

from relay.config.kinds import Choice, Text, Timeout
from relay.config.setting import BOOLEAN, COUNT, Group, Setting

NETWORK = Group(
    "Network and retries",
    (
        Setting(
            "transport",
            Choice(("auto", "sse", "websocket", "websocket-cached")),
            "auto",
            "How to talk to providers that offer more than one way.",
        ),
        Setting(
            "httpProxy",
            Text(blank=False),
            None,
            "Proxy for http and https, in place of `HTTP_PROXY` and `HTTPS_PROXY`.",
            automatic="none",
            global_only=True,
        ),
        Setting(
            "httpIdleTimeoutMs",
            Timeout(),
            300_000,
            "Milliseconds a server may stay silent before or within an answer.",
        ),
        Setting(
            "websocketConnectTimeoutMs",
            Timeout(),
            15_000,
            "Milliseconds a WebSocket connection may take to open.",
        ),
        Setting("retry.enabled", BOOLEAN, True, "Try again after a failure that may pass."),
        Setting("retry.maxRetries", COUNT, 3, "How often the agent tries again."),
        Setting("retry.baseDelayMs", COUNT, 2000, "First wait in milliseconds; it doubles each time."),
        Setting(
            "retry.maxAgentDelayMs",
            COUNT,
            60_000,
            "Longest wait of the agent's own, in milliseconds. What the server asks for may be longer.",
        ),
        Setting(
            "retry.provider.timeoutMs",
            Timeout(),
            None,
            "Milliseconds a request to a provider may take.",
            automatic="the value of `httpIdleTimeoutMs`",
        ),
        Setting("retry.provider.maxRetries", COUNT, 0, "How often a request is repeated below the agent."),
        Setting(
            "retry.provider.maxRetryDelayMs",
            COUNT,
            60_000,
            "Longest wait that a server may ask for, in milliseconds; `0` accepts any.",
        ),
    ),
    "Leave `retry.provider.maxRetries` at `0` unless it is needed: while a request is being "
    "repeated, the agent "
    "cannot react to quota errors.",
)
