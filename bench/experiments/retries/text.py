"""What the figure of retries says."""

from bench.experiments.retries.findings import Outcome, outcomes, recovery_words, utilization
from bench.run.frames import Run
from bench.stats import across_starts
from bench.text import paragraphs


def conclusion(run: Run) -> str:
    """Say what the load was, what each policy did to the server, and what queueing theory predicts."""
    return paragraphs(offered(run), storm(run), predicted(run))


def offered(run: Run) -> str:
    """Say what was offered, and how long the server stopped."""
    of = run.case(outcomes(run)[0].case)
    share = of.options["freeze_ms"] / 1e3 / run.plan.window_s
    return (
        f"{of.offered_per_s:g} requests/s to a server that takes {of.options['mean_us'] / 1e3:g} ms for each, one at a "
        f"time: utilization {utilization(run):.0%}. It stops once for {of.options['freeze_ms']} ms, {share:.0%} of "
        f"each window. An attempt is abandoned after {of.retry['timeout_ms']:g} ms, a request has failed after "
        f"{of.retry['deadline_ms']:g} ms."
    )


def storm(run: Run) -> str:
    """Say of each policy how many attempts it made, what the users had, and whether the load recovered."""
    return "\n".join(_line(outcome) for outcome in outcomes(run))


def _line(outcome: Outcome) -> str:
    made = across_starts(outcome.attempts_per_request).words("{:.2f}".format)
    met, wasted = (across_starts(share).words("{:.0%}".format) for share in (outcome.met, outcome.wasted))
    frozen = int(outcome.recovery_s.notna().sum())
    if not frozen:
        ended = "the server did not freeze in the window"
    elif 2 * outcome.recovered <= frozen:
        others = f" ({outcome.recovered} of {frozen} starts did)" if outcome.recovered else ""
        ended = (
            f"it did **not recover** before the window ended{others}, though the server was healthy after the freeze"
        )
    else:
        ended = f"deadlines were met again {recovery_words(outcome)} after the freeze ended"
    return (
        f"- **{outcome.name}**: {made} attempts per request, {met} of the requests met the deadline, "
        f"{wasted} of the replies came after their attempt was abandoned; {ended}."
    )


def predicted(run: Run) -> str:
    """Say which utilization the policies lead to if every request needs all its attempts, and whether that can last."""
    lines = []
    for outcome in outcomes(run):
        attempts = 1.0 + (
            min(outcome.policy.budget, outcome.policy.retries) if outcome.policy.budget else outcome.policy.retries
        )
        rho = utilization(run, attempts)
        state = "above 100 %: once late, the server stays late" if rho > 1 else "below 100 %: the queue empties again"
        lines.append(f"| {outcome.name} | {attempts:g} | {rho:.0%} | {state} |")
    head = "| policy | most attempts per request, in the long run | utilization if all are made | prediction |\n"
    return head + "|---|---:|---:|---|\n" + "\n".join(lines)
