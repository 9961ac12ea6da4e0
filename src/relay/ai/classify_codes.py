"""What providers' error codes and HTTP statuses mean, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from relay.ai.errors import ErrorKind

_BY_KIND: dict[ErrorKind, str] = {
    "overflow": """
        context_length_exceeded exceed_context_size_error exceeds_context_size context_window_exceeded
        model_context_window_exceeded model_max_prompt_tokens_exceeded request_too_large context_too_long
        prompt_too_long input_too_long max_context_length_exceeded context_limit_exceeded
        contextwindowexceedederror contextlengthexceeded token_limit_exceeded prompt_tokens_exceeded
        max_prompt_tokens_exceeded context_overflow
    """,
    "quota": """
        insufficient_quota exceeded_current_quota_error billing_hard_limit_reached billing_soft_limit_reached
        billing_error billing_not_active credit_balance_too_low usage_limit_reached usage_limit_exceeded
        usage_not_included insufficient_balance insufficient_credits insufficient_funds payment_required
        quota_exceeded quota_exhausted account_deactivated arrearage monthly_limit_reached
        free_usage_exceeded creditserror freeusagelimiterror spend_limit_reached
    """,
    "refusal": """
        content_filter content_policy_violation responsibleaipolicyviolation policy_violation refusal
        data_inspection_failed datainspectionfailed content_blocked prohibited_content safety
        moderation_blocked cyber_policy_violation image_content_policy_violation
    """,
    "rate_limit": """
        rate_limit_exceeded rate_limit_error rate_limit_reached rate_limited too_many_requests tokens requests
        resource_exhausted throttlingexception throttling slow_down engine_overloaded_rate_limit
        requests_per_minute tokens_per_minute concurrency_limit_exceeded toomanyrequestsexception
    """,
    "overload": """
        overloaded_error overloaded server_is_overloaded engine_overloaded engine_overloaded_error
        model_overloaded unavailable service_unavailable service_unavailable_error server_error
        internal_server_error internal api_error internal_error server_overloaded serviceunavailableexception
        internalserverexception modelnotreadyexception modelerrorexception bad_gateway provider_error
        upstream_error loading_model unavailable_error
    """,
    "transport": """
        timeout timeout_error request_timeout gateway_timeout deadline_exceeded modeltimeoutexception
        stream_timeout aborted cancelled
    """,
    "auth": """
        authentication_error permission_error invalid_api_key incorrect_api_key unauthenticated
        permission_denied unauthorized api_key_invalid access_denied accessdeniedexception forbidden
        invalid_token token_expired expired_api_key missing_api_key unrecognizedclientexception
        invalid_authentication_error missing_scope
    """,
    "request": """
        invalid_request_error not_found_error invalid_argument model_not_found bad_request bad_request_error
        badrequesterror validationexception unsupported_parameter unknown_parameter not_found
        failed_precondition unsupported_value invalid_value unprocessable_entity string_above_max_length
        invalid_model
    """,
}

CODES: Mapping[str, ErrorKind] = MappingProxyType(
    {code: kind for kind, codes in _BY_KIND.items() for code in codes.split()}
)
"""Lower-cased `code`, `type`, `status` or `reason` of an error body → kind."""

STATUSES: Mapping[int, ErrorKind] = MappingProxyType(
    {
        401: "auth",
        402: "quota",
        403: "auth",
        404: "request",
        407: "auth",
        408: "transport",
        409: "overload",
        413: "overflow",
        425: "overload",
        429: "rate_limit",
        498: "rate_limit",  # Groq: capacity of its flex tier
        499: "transport",
        501: "request",
        502: "overload",
        503: "overload",
        504: "transport",
        505: "request",
        524: "transport",
        529: "overload",
    }
)
