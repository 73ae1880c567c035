"""``python -m bench service FILE``: a service measured, and one page about it, as HTML and as JSON."""

import base64
import json
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from bench import stats, systems
from bench.analysis import checks, quantiles, request_mix, stalls, trust_card
from bench.analysis.verdicts import BASELINES
from bench.apps import notebook, numbers
from bench.errors import BENCH, UsageError
from bench.grammar import figure as panels
from bench.grammar import result_tables
from bench.grammar.experiment import of_run
from bench.grammar.markup import as_html, png, table, template
from bench.grammar.method import measured
from bench.measurement import trace
from bench.measurement.validation.profiles import PROFILES
from bench.plan import parameters, paths, service_file
from bench.plan.case import MOST_CLIENTS
from bench.plan.objective import Objective
from bench.plan.objective import objective as read_objective
from bench.run.files import write_bytes
from bench.run.frames import Run
from bench.text import counted, duration, listed, one_line, paragraphs, unmarked

Say = Callable[[str], None]
SHARES = ("share of calls", "share of time")  # of a request
MOST_REQUESTS = 10  # in the terminal; the page has all


def make(
    file: str | None,
    objective: str,
    clients: int,
    profile: str,
    engine: str,
    out: Path | None,
    host: str | None,
    say: Say,
) -> bool:
    """Measure a service and write its page; return whether no check is INVALID.

    host: one beside this machine that may be loaded.
    """
    if not file:
        raise UsageError(f"name a service file, as in {BENCH} service prices.yaml: docs/services.md describes it")
    if host:
        os.environ[service_file.MAY_LOAD] = host
    folder = out or paths.figures()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise UsageError(f"no page can be written into {folder}: {reason.strerror}: name another folder") from reason
    runs = list[Run]()
    try:
        for run in measure(file, objective, clients, profile, engine, say):
            say(f"\n{unmarked(paragraphs(conclusion(run), round_trips(run), card(run)))}\n")
            runs.append(run)
    finally:  # what was measured is kept, also where the search fails
        if runs:
            say("Page and numbers: " + ", ".join(paths.shown(file) for file in write(*runs, folder=folder)))
    if runs[0].plan.notebook == "latency" and not trace.why_not():
        say(f"Where the time goes: {BENCH} trace {shlex.quote(file)}")
    return not any(trust_card.tally(checks.check(run)).is_invalid for run in runs)


def card(run: Run) -> str:
    """Return how many checks passed, and in a line for each caution the whole finding."""
    outcomes = checks.check(run)
    cautions = [
        f"{each.name}: {one_line(each.found, len(each.found))}"
        for each in outcomes
        if each.verdict == trust_card.CAUTION
    ]
    return "\n".join([trust_card.tally(outcomes).line, *cautions])


def conclusion(run: Run) -> str:
    """Return what the run of a service says, as Markdown; also of writes that waited for delayed ACKs.

    Of too few starts the values without a conclusion: whoever tries a file sees that it works.
    """
    shown = of_run(run)
    return paragraphs(shown.answer(run), shown.preliminary(run), stalls.held_back(run))


def round_trips(run: Run) -> str:
    """Return a table of the RTT of all calls and of each request, and the CPU time per call; "" of other runs."""
    if run.plan.notebook != "latency":
        return ""
    case = own_case(run)
    counts, of_mix = request_mix.counts(run, case), result_tables.requests_of_mix(run)
    rtt = {f"p{100 * p:g}": p for p in stats.QUANTILES[:3]}
    rows: dict[str, dict[str, object]] = {
        name or "all calls": {title: _value(quantiles.quantile(run, case, p, "rtt", name)) for title, p in rtt.items()}
        | {title: of_mix.loc[name, title] if name else "" for title in SHARES if counts}
        for name in ["", *list(counts)[:MOST_REQUESTS]]
    }
    cpu, left = result_tables.costs(run).loc[run.labels[case]], len(counts) - MOST_REQUESTS
    lines = [
        "RTT of one caller (n/a: too few calls); ranges and intervals are on the page:",
        pd.DataFrame.from_dict(rows, orient="index").to_string(),
        f"and {counted(left, 'request')} more, on the page" if left > 0 else "",
        f"CPU time per call [range over starts]: client {cpu['client CPU/call']}, server {cpu['server CPU/call']}",
    ]
    return "\n".join(filter(None, lines))


def _value(quantile: quantiles.Quantile) -> str:
    return quantile.spread.words(duration) if quantile.over else "n/a"


def own_case(run: Run) -> int:
    """Return the number of the case that is the service, not beside it."""
    return next(case for case in run.numbers if run.case(case).system not in BASELINES)


def measure(file: str, objective: str, clients: int, profile: str, engine: str, say: Say) -> Iterator[Run]:
    """Measure the round trips and the capacity of a service, or its streams, by a load generator; yield each run.

    UsageError for a file that is none.
    """
    goal = read_objective(objective)
    parameters.count(clients, "clients", MOST_CLIENTS)
    parameters.one_name(profile, "profile", list(PROFILES))
    name = systems.adopt(file)
    service = service_file.read(systems.file_of(name))
    say(described(service))
    shared: dict[str, Any] = {"system": name, "transport": service.transport, "profile": profile, "engine": engine}
    if systems.has_streams(name):
        yield notebook.measure("streaming", **shared)
        return
    latency = notebook.measure("latency", **shared)
    yield latency
    if why := "the profile smoke is a quick look" if profile == "smoke" else why_no_rate(latency, name, goal):
        say(f"No search for a capacity: {why}")
        return
    yield notebook.search(**shared, objective=objective, clients=clients)


def why_no_rate(run: Run, name: str, goal: Objective) -> str:
    """Return why no rate can meet an objective, by the round trips of one caller; "" if one may."""
    (case, *_) = run.find(system=name)
    starts, median_us = run.ledger_of(case), float(run.cases.loc[case, "p50_rtt_us"])
    failed = starts["errors"].sum() / max(1, starts["errors"].sum() + starts["calls"].sum())
    if failed > 1 - goal.p:
        return f"{failed:.1%} of the requests failed, and {goal} allows {1 - goal.p:.1%}"
    if goal.p >= 0.5 and median_us > goal.limit_us:
        return f"the median of one caller, {duration(median_us)}, is above the limit of {goal}"
    return ""


def described(service: service_file.Service) -> str:
    """Return what is measured, in words, and which replies are not checked."""
    requests = service.says.requests
    if recorded := service.recording:
        count, last_s = len(recorded.requests), recorded.requests[-1].at_s
        text = f"{service.name}: {count:,} recorded requests, one after the other"
        text += f" ({(count - 1) / last_s:.3g} per second in the recording)" if last_s else ""
        if recorded.elsewhere:
            text += f"; {recorded.elsewhere:,} requests without a reply or to other servers are left out"
        if missing := [name for name in recorded.dropped if name.lower() not in map(str.lower, service.says.headers)]:
            names = ", ".join(missing)
            text += f"; not sent, since they may hold secrets: {names}; write them under headers, with {{env:NAME}}"
        return text
    total = sum(request.weight for request in service.mix)
    mix = ", ".join(f"{request.name} {request.weight / total:.0%}" for request in service.mix)
    text = f"{service.name}: {mix} of the requests"
    if service.once:
        text += f", after {listed(request.name for request in service.once)} once per caller"
    if loose := [request.name for request in requests if request.expect == service_file.Expect()]:
        text += f"; replies to {', '.join(loose)} are not checked beyond a status below 400"
    return text


def headline(first: Run, *others: Run) -> dict[str, Any]:
    """Return the page's numbers: of the service's round trips and its capacity, or of its streams; and the runs."""
    case = own_case(first)
    summary: dict[str, Any] = {"service": first.case(case).system}
    if first.plan.notebook == "latency":
        summary |= {"round_trip": numbers.values(first, case)}
    if others:
        summary |= {"capacity": numbers.capacity(others[0])}
    return summary | {"runs": {run.plan.notebook: numbers.document(run) for run in (first, *others)}}


def write(*runs: Run, folder: Path) -> tuple[Path, Path]:
    """Write the page and its numbers into a folder, named after the service; return their paths."""
    summary = headline(*runs)
    page, data = (folder / f"{summary['service']}.{kind}" for kind in ("html", "json"))
    write_bytes(data, json.dumps(summary, indent=1).encode() + b"\n", "--out")
    write_bytes(page, _html(summary["service"], *runs).encode(), "--out")
    return page, data


def _html(name: str, *runs: Run) -> str:
    parts = [
        {
            "title": of_run(run).question,
            "conclusion": as_html(conclusion(run)),
            "alt": panels.alt_text(run),
            "png": base64.b64encode(png(panels.whole(run), 100)).decode(),
            "card": table(result_tables.card(checks.check(run)), border=0),
            "tables": [table(frame, border=0) for frame in result_tables.results(run)],
            "measured": measured(run),
        }
        for run in runs
    ]
    return template(Path(__file__).with_suffix(".html.j2")).render(name=name, parts=parts)
