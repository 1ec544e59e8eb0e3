"""How much one client may ask of us. Each bound is a setting; docs/settings.md gives the reasons."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RelayLimits:
    """The bounds of a conversation."""

    subscriptions_max: int = 200
    filters_max: int = 100
    filter_values_max: int = 5000
    results_max: int = 500
    negentropy: bool = True
    neg_sessions_max: int = 20
    neg_records_max: int = 1_000_000
    neg_rounds_max: int = 512
    neg_session_s_max: float = 600.0
    neg_frame_bytes_max: int = 60_000
    auth_attempts_max: int = 10
    auth_age_s_max: int = 600
