"""What the figure of retries says."""

from bench.experiments.retries.findings import Outcome, outcomes, recovery_words, utilization, workers
from bench.run.frames import Run
from bench.stats import across_starts
from bench.text import listed, paragraphs


def answer(run: Run) -> str:
    """Say of each policy whether the load recovered from the freeze, with how many attempts."""
    freeze_ms = run.case(outcomes(run)[0].case).options["freeze_ms"]
    lines = [
        f"- **{outcome.name}**: {_attempts(outcome)} attempts per request, {_measured(outcome)}"
        for outcome in outcomes(run)
    ]
    return "\n".join([f"After a freeze of {freeze_ms} ms:", *lines])


def conclusion(run: Run) -> str:
    """Say what the load was, what each policy did to the server, and what queueing theory predicts."""
    return paragraphs(offered(run), storm(run), predicted(run))


def offered(run: Run) -> str:
    """Say what was offered, and how long the server stopped."""
    of = run.case(outcomes(run)[0].case)
    share = of.options["freeze_ms"] / 1e3 / run.plan.window_s
    takes, count = f"{of.options['mean_us'] / 1e3:g} ms for each, one at a time", workers(run, outcomes(run)[0].case)
    server = f"a server whose {count} workers take {takes}" if count > 1 else f"a server that takes {takes}"
    who = "One worker" if count > 1 else "It"
    return (
        f"{of.offered_per_s:g} requests/s to {server}: utilization {utilization(run):.0%}. {who} stops once for "
        f"{of.options['freeze_ms']} ms, {share:.0%} of each window. An attempt is abandoned after "
        f"{of.retry['timeout_ms']:g} ms, and the deadline of a request is {of.retry['deadline_ms']:g} ms. "
        f"{_order(of.callers)}"
    )


def _order(connections: int) -> str:
    """Say whether a retry can be answered before the attempt that it repeats, and why."""
    if connections > 1:
        return (
            f"The attempts of a request use {connections} connections in turn, one to each worker, so a retry can be "
            "answered before the attempt that it repeats."
        )
    return (
        "All attempts share one connection, whose requests are answered in order: no retry can be answered before the "
        "attempt that it repeats, so here retries can only add load."
    )


def storm(run: Run) -> str:
    """Say of each policy how many attempts it made, what the users had, and whether the load recovered."""
    return "\n".join(_line(outcome) for outcome in outcomes(run))


def _line(outcome: Outcome) -> str:
    awaited, met, overtaken, wasted = (
        across_starts(share).words("{:.0%}".format)
        for share in (outcome.awaited, outcome.met, outcome.overtaken, outcome.wasted)
    )
    frozen = int(outcome.recovery_s.notna().sum())
    if not frozen:
        ended = "The server did not freeze in the window"
    elif 2 * outcome.recovered <= frozen:
        others = f" ({outcome.recovered} of {frozen} starts did)" if outcome.recovered else ""
        ended = (
            f"It did **not recover** before the window ended{others}, though the server was healthy after the freeze"
        )
    else:
        ended = f"Requests were answered in time again {recovery_words(outcome)} after the freeze ended"
    policy = outcome.policy
    overtakes = policy.retries and (outcome.overtaken > 0).any()
    first = f" A retry was answered first for {overtaken} of the requests." if overtakes else ""
    return (
        f"- **{outcome.name}**: {_attempts(outcome)} attempts per request. {awaited} of the requests were answered "
        f"before the attempt was abandoned ({policy.timeout_ms:g} ms), {met} within the deadline "
        f"({policy.deadline_ms:g} ms).{first} {wasted} of the replies came too late for their attempt. "
        f"{ended}."
    )


def _attempts(outcome: Outcome) -> str:
    return across_starts(outcome.attempts_per_request).words("{:.2f}".format)


def predicted(run: Run) -> str:
    """Say which utilization the policies lead to if every request needs all its attempts, and what was measured.

    Predictions that the run contradicts come first.
    """
    lines, wrong = [], []
    for outcome in outcomes(run):
        attempts = 1.0 + (
            min(outcome.policy.budget, outcome.policy.retries) if outcome.policy.budget else outcome.policy.retries
        )
        rho = utilization(run, attempts)
        state = "above 100 %: once late, the server stays late" if rho > 1 else "below 100 %: the queue empties again"
        measured = _measured(outcome)
        if outcome.recovers is not None and outcome.recovers != (rho <= 1):
            wrong.append(f"**{outcome.name}** (predicted: {state}, measured: {measured})")
        lines.append(f"| {outcome.name} | {attempts:g} | {rho:.0%} | {state} | {measured} |")
    first = f"The run contradicts the prediction for {listed(wrong)}." if wrong else ""
    head = (
        "| policy | most attempts per request, in the long run | utilization if all are made | prediction | measured |",
        "|---|---:|---:|---|---|",
    )
    return paragraphs(first, "\n".join([*head, *lines]))


def _measured(outcome: Outcome) -> str:
    """Return in how many starts requests were answered in time again before the window ended."""
    frozen = int(outcome.recovery_s.notna().sum())
    if not frozen:
        return "the server did not freeze in the window"
    return f"in time again within the window in {outcome.recovered} of {frozen} starts"
