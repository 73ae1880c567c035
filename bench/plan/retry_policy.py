"""What a client does about a reply that does not come: timeouts, retries, backoff, a budget.

Source for the policies: M. Brooker, "Timeouts, retries, and backoff with jitter" (Amazon Builders' Library, 2019): full
jitter, and a token bucket that limits retries to a share of the requests.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class RetryPolicy:
    """What a client does about a reply that does not come.

    timeout_ms: of each attempt, from sending. deadline_ms: of the request, from its due time: no attempt outlasts it.
    retries: at most, for each request. backoff_ms: retry n waits a random time of up to backoff_ms 2^(n - 1) (full
    jitter); 0: retries are sent at once. budget: retries for each request that a token bucket allows in the long run;
    0: no limit. burst: tokens that the bucket holds, and begins with.
    """

    timeout_ms: float = 50.0
    deadline_ms: float = 500.0
    retries: int = 0
    backoff_ms: float = 0.0
    budget: float = 0.0
    burst: float = 10.0

    def __post_init__(self) -> None:
        if not 0 < self.timeout_ms <= self.deadline_ms <= 60_000:
            raise ValueError("timeout_ms must be above 0, and deadline_ms at least timeout_ms and at most 60 000")
        if not 0 <= self.retries <= 100:
            raise ValueError("retries must be from 0 to 100")
        if self.backoff_ms < 0 or self.budget < 0 or self.burst < 0:
            raise ValueError("backoff_ms, budget and burst must not be negative")

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Return the policy that a specification holds; ValueError for what is not one."""
        try:
            return cls(**values)
        except TypeError as reason:
            raise ValueError(str(reason)) from reason

    @property
    def words(self) -> str:
        """What tables and figures call this policy."""
        if not self.retries:
            return "no retries"
        how = ["backoff with jitter"] * bool(self.backoff_ms) + ["retry budget"] * bool(self.budget)
        return ", ".join(how) or "retries at once"
