"""The service of the oracle's front: how long requests take, how many at once, and which fail."""

from dataclasses import dataclass
from typing import Literal

from bench.text import counted, duration

SUFFERED = {  # by a request with a fault
    "status": "answered with an error",
    "body": "answered with another body",
    "close": "gets no answer: its connection, or stream, is closed",
}
BREAKS_OFF = "answered with a stream that breaks off behind its first event"


@dataclass(frozen=True)
class Service:
    """How requests are served.

    law: distribution of the service times, as of the system ``oracle``. mean_us: their mean. workers: requests in
    service at once, the others wait in one queue; 0 for no limit. freeze_ms: how long in every second nothing is
    served. fault: what one request in ``every`` gets instead of its answer: status (an error), body (another one),
    close (its connection ends, over HTTP/2 its stream). spared: so many requests at first get none. events, gap_us: of
    a protocol with streams, the events of an answer, of which the first is sent when the service ends, and the time
    between two of them.
    """

    law: Literal["constant", "exponential", "bimodal"] = "constant"
    mean_us: float = 1000.0
    workers: int = 1
    freeze_ms: float = 0.0
    fault: Literal["none", "status", "body", "close"] = "none"
    every: int = 0
    spared: int = 0
    events: int = 1
    gap_us: float = 0.0

    @property
    def stream_us(self) -> float:
        """The time from the first event of an answer to the last."""
        return (self.events - 1) * self.gap_us

    @property
    def words(self) -> str:
        """It in words."""
        queue = "all requests served at once" if not self.workers else f"{counted(self.workers, 'request')} at a time"
        words = f"{self.law} service times, mean {duration(self.mean_us)}, {queue}"
        words += f", then {counted(self.events - 1, 'event')}, one every {duration(self.gap_us)}" if self.gap_us else ""
        words += f", frozen for {self.freeze_ms:g} ms in every second" if self.freeze_ms else ""
        suffered = BREAKS_OFF if self.fault == "close" and self.events > 1 else SUFFERED.get(self.fault)
        return words + (f", one request in {self.every} {suffered}" if self.every else "")
