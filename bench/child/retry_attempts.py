"""When each attempt of a request is made, abandoned and repeated; on any clock, without sockets.

A request is due at a time of the schedule. An attempt that is not answered within the timeout is abandoned: its reply,
if it comes late, is work of the server that nobody uses. The policy decides whether the request is tried again.
"""

import heapq
import random
from array import array

from bench.child.timed_loops import zeros
from bench.plan.retry_policy import RetryPolicy

TIMEOUT, RETRY = 0, 1  # kinds of alarms


def connection_of(request: int, number: int, connections: int) -> int:
    """Return on which connection an attempt is sent: each attempt of a request uses the next one."""
    return (request + number) % connections


class Requests:
    """The requests of an open load and their attempts, numbered in the order of sending.

    request, number: of each attempt, its request and which attempt of it this is, from 0. sent, replied: its times in
    ns; replied is 0 without a reply. attempts: how many there are.
    """

    def __init__(self, due: "array[int]", policy: RetryPolicy, seed: int) -> None:
        self._due, self._policy, self._chance = due, policy, random.Random(seed)
        self._timeout_ns, self._deadline_ns = int(policy.timeout_ms * 1e6), int(policy.deadline_ms * 1e6)
        max_attempts = max(1, len(due) * (1 + policy.retries))
        self.request, self.number, self.sent, self.replied = (zeros(max_attempts) for _ in range(4))
        self.attempts = 0
        self._begun = 0
        self._tokens = policy.burst
        self._alarms: list[tuple[int, int, int]] = []  # (instant, kind, number of the attempt)

    @property
    def wake_ns(self) -> int | None:
        """The next time at which something is to be done; None when every request is answered or given up."""
        instants = [self._due[self._begun]] if self._begun < len(self._due) else []
        return min(instants + [alarm[0] for alarm in self._alarms[:1]], default=None)

    def next_attempt(self, now_ns: int) -> int | None:
        """Return the number of the next attempt to send at this time, or None if nothing is to be sent yet."""
        while (wake := self.wake_ns) is not None and wake <= now_ns:
            if not self._alarms or self._alarms[0][0] > wake:
                self._tokens = min(self._policy.burst, self._tokens + self._policy.budget)
                self._begun += 1
                return self._attempt(self._begun - 1, 0)
            instant, kind, attempt = heapq.heappop(self._alarms)
            if kind == RETRY:
                return self._attempt(self.request[attempt], self.number[attempt] + 1)
            if not 0 < self.replied[attempt] <= instant:
                self._abandon(attempt, instant)
        return None

    def was_sent(self, attempt: int, now_ns: int) -> None:
        """Keep when an attempt was sent, from which its timeout counts."""
        self.sent[attempt] = now_ns
        limit_ns = min(now_ns + self._timeout_ns, self._due[self.request[attempt]] + self._deadline_ns)
        heapq.heappush(self._alarms, (limit_ns, TIMEOUT, attempt))

    def was_answered(self, attempt: int, now_ns: int) -> None:
        """Keep when the reply to an attempt came, in time or late."""
        self.replied[attempt] = now_ns

    def _attempt(self, request: int, number: int) -> int:
        attempt = self.attempts
        self.request[attempt], self.number[attempt] = request, number
        self.attempts += 1
        return attempt

    def _abandon(self, attempt: int, now_ns: int) -> None:
        """Give up an attempt whose time is over; try the request again later, if the policy allows it."""
        policy, made = self._policy, self.number[attempt] + 1
        wait_ns = int(self._chance.random() * policy.backoff_ms * 2 ** (made - 1) * 1e6)
        deadline_ns = self._due[self.request[attempt]] + self._deadline_ns
        if made > policy.retries or now_ns + wait_ns >= deadline_ns or not self._may_retry():
            return
        heapq.heappush(self._alarms, (now_ns + wait_ns, RETRY, attempt))

    def _may_retry(self) -> bool:
        """Return whether the budget allows one more retry, and take its token."""
        if not self._policy.budget:
            return True
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
