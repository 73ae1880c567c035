"""placement.ipynb: the same round trip with client and server on one CPU, on two, and wherever the kernel puts them."""

from collections.abc import Iterator, Sequence
from typing import Any

from bench.errors import UsageError
from bench.grammar import CPU, P50, Bytes, Cdf, Claim, Contrast, Rows, Systems, Table, as_sweep, way_of
from bench.measurement.validation.amount import InTurns
from bench.measurement.validation.cases import transports
from bench.plan import placement
from bench.plan.case import BASELINE, Case
from bench.plan.labels import placed_as
from bench.run.frames import Run

TITLE = "How does CPU placement change the round-trip time?"
WAY = ("system", "transport")


@as_sweep(omits=("placement", "hosts"), in_common=WAY)
def sweep(
    amount: InTurns, system: Systems = "zeromq", transport: object = "[ipc, tcp]", payload_bytes: Bytes = 1000
) -> Iterator[Case]:
    """Yield the round trips of some systems, and of raw sockets, under each placement."""
    if reason := placement.why_not():
        raise UsageError(f"placements cannot be compared: {reason}; draw the reference run: -p source reference")
    for name in dict.fromkeys([*system, BASELINE]):
        for transport_name in transports(name, transport, ""):
            yield from (
                Case(name, transport_name, payload_bytes, placement=placement_name)
                for placement_name in placement.PLACEMENTS
            )


def why_not(**asked: Any) -> str | None:
    """Return why this machine cannot compare placements, None if it can."""
    return placement.why_not()


def first_transport(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases with the transport of the first."""
    return [case for case in among if run.case(case).transport == run.case(among[0]).transport]


ELSEWHERE = {"placement": lambda value: value != "same"}
slower = Contrast(P50, of=ELSEWHERE, over={"placement": "same"}, by=WAY)
more_work = Contrast(CPU, of=ELSEWHERE, over={"placement": "same"}, by=WAY)

contrasts = (slower,)
answer = (slower,)
claims = (
    Claim("with one caller the median RTT is longer elsewhere than on one CPU (`same`)", slower, above=1),
    Claim("a call costs more CPU time elsewhere than on one CPU (`same`)", more_work, above=1),
)
panels = {
    "placements": Rows("Median RTT by placement", P50, colour_by=placed_as, label=way_of),
    "placement_distribution": Cdf("Distribution of the RTT", colour_by=placed_as, dash="system", where=first_transport),
    "placement_cpu": Rows("CPU time per call, by placement", CPU, colour_by=placed_as, label=way_of),
    "placement_switches": Rows(
        "Voluntary context switches of the server", "server_sleeps_per_call", colour_by=placed_as, label=way_of
    ),
}
tables = {"spread": Table({"median RTT [range over starts]": P50, "CPU time per call [range over starts]": CPU})}
