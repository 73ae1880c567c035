"""Write the parts of README.md and docs/ that quote measured numbers: ``python docs/write.py expected``.

They stand between two markers, and are the tables and sentences that the notebooks show of the reference runs.
``certificate`` tests the instrument in virtual time anew (minutes); ``picture`` draws the pictures.
"""

import argparse
import functools
import html
import itertools
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from matplotlib.figure import Figure

from bench import stats, systems
from bench.analysis import checks, resources, trust_card
from bench.analysis import published as of_occasions
from bench.analysis.occasions import RTT_RATIO
from bench.analysis.published import Published
from bench.analysis.quantiles import times
from bench.analysis.replication import APART, SHARED
from bench.apps import replicating
from bench.apps.teaching import questions
from bench.contract import GROUPS, GUARANTEES
from bench.errors import BenchError, DataError
from bench.experiments import clients, languages, latency, messages, overview, scaleup
from bench.experiments.anatomy import row_words, rows_us
from bench.grammar import P50, Level, contrast, result_tables
from bench.grammar import figure as panels
from bench.grammar.experiment import of_run
from bench.grammar.statement import as_markdown
from bench.plan import paths
from bench.plan.case import BASELINE
from bench.plan.labels import distinguished
from bench.plan.placement import IN_WORDS
from bench.run import schema, stored
from bench.run.frames import Run, shared
from bench.text import counted, duration, listed, paragraphs, quantity, ratio_ends
from certify import stored_certificate
from certify.check import NOT_HELD
from certify.instrument import RUNS, certificate, verdict
from certify.stored_certificate import in_order
from docs import at_rates, forecast_picture, front, published_tables, ratios_picture
from selfcheck import anatomy, count_gate, fairness, hosts_cost, quiet, resolution, verdicts

BLOCK = re.compile(r"(<!-- generated: (?P<name>[\w-]+) \(make \w+\) -->)(?P<text>.*?)(<!-- generated: end -->)", re.S)
PICTURE = "docs/overview.png"
FRONT_PICTURE = "docs/front.png"
ANATOMY_PICTURE = "docs/anatomy.png"
FORECAST_PICTURE = "docs/forecasts.png"
EXPECTATIONS = "docs/teaching/expectations.yaml"  # of any machine
OVER_TCP = "latency.ipc-and-tcp"  # the scenario whose stored run has well-known systems over both
NEEDS: tuple[tuple[str, str, tuple[Any, ...]], ...] = (  # what someone who chooses a stack asks, and a notebook with
    # what answers it there: its own answer where nothing is named. Ratios to raw sockets are in the tables alone.
    ("A structured message, over HTTP, gRPC or ZeroMQ?", "messages", (Level(P50, messages.by_system),)),
    ("The serializer or the transport?", "messages", ()),
    ("How long is the first call of a gRPC client process?", "clients", clients.answer[2:]),
    ("What does a second worker process bring on two CPUs?", "scaleup", (scaleup.second,)),
    ("What does a missing TCP_NODELAY cost?", "nodelay", ()),
)
GROUP_NAMES = {
    "direct": "direct: client and server, no process between them",
    "broker": "through a broker or router",
    "http": "HTTP",
    "native": "native: client and server in C or C++",
    "instrument": "for testing the instrument itself",
}

Makers = Mapping[str, Callable[[], str]]


def reference(notebook: str) -> Run:
    """Return a notebook's reference run."""
    return shared(stored.find(f"reference/{notebook}").path)


def markdown(frame: pd.DataFrame) -> str:
    """Return a table of text as Markdown, its index first."""
    table = frame.reset_index()
    rows = [list(table.columns), ["---"] * len(table.columns), *table.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(value: object) -> str:
    return html.escape(str(value), quote=False).replace("|", "\\|")


@functools.cache
def published() -> Published:
    """Return overview's occasions, which documents quote."""
    return Published(tuple(replicating.load(replicating.file_of(replicating.REFERENCE, "overview")).occasions))


AGAIN = "overview.published"  # the scenario that measures another occasion


def heading(publication: Published) -> str:
    """Return what the numbers of the tables are."""
    count = len(publication.machines)
    return (
        "Each number is a system's value divided by that of raw sockets over the same transport and on the same CPUs, "
        f"with one client and a payload of {_payload(publication)}: the smallest and the largest of up to {count} "
        "machines."
    )


RANKS = (
    "Rows are in the order of the geometric mean over the machines. Where the ranks of two systems overlap, their "
    "order may differ on your machine: their means are closer to each other than 95 % of the machines were to the mean "
    "of the others."
)


def _payload(publication: Published) -> str:
    sizes = {row.case.get("payload_bytes", 1000) for occasion in publication.occasions for row in occasion.rows}
    return listed(f"{size:,} B" for size in sorted(sizes))


def how_far(publication: Published) -> str:
    """Return how far the numbers hold: occasions, machines, other machines, and how forecasts did."""
    occasions = f"{of_occasions.described(publication)} {published_tables.cautions(publication)}"
    several = TABLES_APART if len(publication.orders) > 1 else ""
    predicted = published_tables.predicted(publication)
    parts = [occasions.strip(), of_occasions.reach_text(publication), predicted, several]
    return "\n".join(f"- {part}" for part in parts if part)


TABLES_APART = (
    "Ratios and ranks of two tables cannot be compared: each divides by raw sockets over its own transport, and a raw "
    "socket takes longer over tcp."
)


def again(publication: Published) -> str:
    """Return the command that measures another occasion and compares it with these, and how long it takes."""
    minutes = counted(published_tables.minutes(publication), "minute")
    return (
        f"`.venv/bin/bench replicate {AGAIN} --against reference` measures another occasion on your machine, "
        f"in about {minutes}, and reports how many of these orders and ratios hold there."
    )


ANATOMY, COUNTS = "anatomy.eight-systems", "anatomy.counts"  # the scenarios whose stored runs docs/anatomy.md shows


def anatomy_table(name: str, scenario: str = ANATOMY) -> str:
    """Return a table of one of these runs, and of which run it is."""
    run = reference(scenario)
    machine, (placement,) = run.manifest["machine"], run.cases["placement"].unique()
    host = f"{machine['cpu_model']}, {'virtual, ' if machine['virtual'] else ''}Linux {machine['kernel']}"
    placed = f"{IN_WORDS[placement]} (placement `{placement}`)"
    return _of_frame(of_run(run).table(run, name), f"Run {run.id}: {host}; {placed}.")


def why_longer() -> str:
    """Return why a call over gRPC in Python takes longer than over ZeroMQ, and than over gRPC in C++."""
    run = reference(ANATOMY)
    names = ("grpc_sync", "zeromq", "grpc_cpp")
    slow, quick, cpp = (
        rows_us(run, case) for name in names if (case := run.first(system=name, traced=True)) is not None
    )
    more: Counter[str] = Counter()
    for row in slow:
        kinds = (kind for kind in ("user code", "kernel", "waking") if kind in row_words(row))
        more[next(kinds, "other processes")] += slow[row] - quick[row]
    *parts, last = [f"{duration(us)} {kind}" for kind, us in more.most_common() if us > 1]
    whole_us, cpp_us = sum(slow.values()), sum(cpp.values())
    return (
        f"**Why does a call over gRPC in Python take {duration(whole_us - sum(quick.values()))} longer than over "
        f"ZeroMQ?** The difference is {', '.join(parts)} and {last}. In C++, over the same core of gRPC, a call takes "
        f"{duration(cpp_us)}: {duration(whole_us - cpp_us)} of the {duration(whole_us)} come with the Python library "
        "around that core."
    )


def summary() -> str:
    """Return a picture and a table of well-known systems, and how far they hold."""
    publication = published()
    shown = f"![{FRONT_ALT}]({FRONT_PICTURE})"
    table = markdown(published_tables.well_known(publication))
    runs = "[All systems, the runs and their cautions](docs/results.md)."
    more = "`.venv/bin/bench predict` measures two systems on your machine and forecasts the times of the others."
    cpu = "CPU time is that of client, server and broker together; threads that work beside each other add up."
    httpx = (
        "Both rows of HTTP have aiohttp's client; with httpx a call over `http_asgi` took "
        f"{fairness.median_ratio('http_asgi', client='httpx'):.2g} times as long on one CPU "
        "([what other options cost](docs/fairness.md#what-the-differences-cost))."
    )
    parts = [cpu, over_tcp(), httpx, published_tables.holds(publication), more, runs]
    below = " ".join(part for part in parts if part)
    return paragraphs(well_known_lead(publication), shown, table, below)


def over_tcp() -> str:
    """Return how much longer a call of the well-known systems takes over TCP."""
    run = reference(OVER_TCP)
    ratios = {run.case(ratio.base).system: ratio for ratio in latency.over_ipc.ratios(run)}
    ratios.pop(BASELINE)
    ordered = sorted(ratios.values(), key=lambda ratio: ratio.value)
    return (
        f"Over TCP these calls took {ordered[0].words} to {ordered[-1].words} times as long in one run "
        f"(`.venv/bin/bench run {OVER_TCP}`)."
    )


def _machines(publication: Published) -> str:
    """Return in words what the machines have in common."""
    machines = publication.machines.values()
    virtual = "virtual machines" if all(machine.virtual for machine in machines) else "machines"
    cpus = {machine.cpus_allowed for machine in machines}
    return f"{virtual} with {counted(cpus.pop(), 'CPU')}" if len(cpus) == 1 else virtual


FRONT_ALT = (
    "Left: median RTT of eight systems divided by that of a raw socket, on each machine. Right: median RTT of each "
    "system in µs, divided into user code, kernel and waking of client, router and server."
)


def well_known_lead(publication: Published) -> str:
    """Return what the numbers of well-known systems are."""
    on = sorted({len(row.on) for row in published_tables.well_known_rows(publication)})
    counts = " or ".join(map(str, on)) if len(on) < 3 else f"{on[0]} to {on[-1]}"
    kinds = counted(of_occasions.kinds_of_machines(publication), "kind")
    ratios = {row.system: f"{math.exp(row.middle):.2g}" for row in published_tables.well_known_rows(publication)}
    return (
        f"**A call over ZeroMQ takes {ratios['zeromq']} times as long as over a raw socket, over HTTP "
        f"{ratios['http_asgi']} to {ratios['http_aiohttp']} times, over gRPC in Python {ratios['grpc_sync']} times, "
        f"over WAMP {ratios['wamp_crossbar']} times.** One call of {_payload(publication)} at a time, over a Unix "
        f"domain socket (`{published_tables.WELL_KNOWN_OVER}`), client and server on separate CPUs. Ratios are "
        f"geometric means over {counts} {_machines(publication)}, of {kinds}. Times are the mean of the raw socket, "
        f"{published_tables.rounded(published_tables.mean_us(publication, BASELINE))} in Python, times the ratio."
    )


def _own_systems() -> list[str]:
    """Return the names of the checkout's systems."""
    own = Path(systems.__file__).parent
    return [name for name in systems.names() if Path(systems.file_of(name)).parent == own]


def catalogue() -> str:
    """Return a table of the checkout's systems with transports and descriptions, by group."""
    names = _own_systems()
    rows = []
    for group in GROUPS:
        rows.append([f"**{GROUP_NAMES[group]}**", "", ""])
        rows += [
            [f"`{name}`", ", ".join(systems.constant(name, "TRANSPORTS")), systems.describe(name)]
            for name in names
            if systems.group(name) == group
        ]
    return markdown(pd.DataFrame(rows, columns=["system", "transports", "what it is"]).set_index("system"))


def guarantees() -> str:
    """Return what each system promises of a message, those through a broker first, and its speed with the defaults."""
    groups = ("broker", *(group for group in GROUPS if group not in ("broker", "instrument")))
    fields = [field for field in GUARANTEES if field != "source"]
    columns = ["system, options", SPEED, *(field.replace("_", "-") for field in fields), "source"]
    speeds, tables = _speeds(), []
    for group in groups:
        rows = []
        for name in (name for name in _own_systems() if systems.group(name) == group):
            promises = systems.guarantees(name)
            for options, promise in promises.items():
                sources = " ".join(f"[{number}]({url})" for number, url in enumerate(promise["source"].split(), 1))
                same = [options and promise[field] == promises[""][field] for field in fields]
                texts = [SAME if is_same else promise[field] for field, is_same in zip(fields, same, strict=True)]
                speed = "" if options else speeds.get(name, "")
                rows.append([f"`{name}` {options}".strip(), speed, *texts, sources])
        heading = GROUP_NAMES[group][0].upper() + GROUP_NAMES[group][1:]
        tables += [f"## {heading}", markdown(pd.DataFrame(rows, columns=columns).set_index(columns[0]))]
    return "\n\n".join(tables)


SPEED = "median RTT / raw sockets'"
SAME = "as with the defaults"


def _speeds() -> dict[str, str]:
    """Return each system's ratio to raw sockets, on separate CPUs, by transport."""
    publication, speeds = published(), dict[str, list[str]]()
    for transport in publication.orders:
        for shown, ratio in published_tables.by_system(publication, transport)[published_tables.APART_RTT].items():
            name = BASELINE if shown == published_tables.BASE else str(shown).strip("`")
            speeds.setdefault(name, []).append(f"{transport} {ratio}")
    return {name: "; ".join(ratios) for name, ratios in speeds.items()}


def origins() -> str:
    """Return the ratios of the published numbers beside those measured here."""
    here, streams = reference("origins"), reference("streaming")
    shown = of_run(streams).tables
    measured = (markdown(shown[name](streams)) for name in ("origin", "steps"))
    return paragraphs(of_run(here).conclusion(here), panels.caption(here), *measured, panels.caption(streams))


def results() -> str:
    """Return all systems with their ranks, the limit of each server, and the tables of one run."""
    publication = published()
    frames = {
        f"{'All systems' if transport == 'ipc' else 'Systems measured'} over {transport}": published_tables.by_system(
            publication, transport
        )
        for transport in publication.orders
    }
    frames["Two clients: calls/s divided by those of one, on separate CPUs"] = published_tables.gains(publication)
    frames["Median RTT of raw sockets on each machine"] = published_tables.levels(publication)
    frames["How good were the forecasts?"] = of_occasions.scores(publication)
    frames["The occasions"] = published_tables.occasions_table(publication)
    made = [f"## {heading}\n\n{markdown(frame)}" for heading, frame in frames.items() if len(frame)]
    picture = f"![{overview.TITLE} Ratios to raw sockets on each machine.]({Path(PICTURE).name})"
    intro = [f"{heading(publication)} {RANKS}", how_far(publication), again(publication)]
    detail = ("## One run in detail", one_run(), "## Versions of that run", versions_of(reference("overview")))
    return paragraphs(*intro, picture, *made, limits(), *detail)


def versions_of(run: Run) -> str:
    """Return the programs and libraries of a run in one sentence."""
    listed_versions = ", ".join(f"{name} {version}" for name, version in result_tables.versions(run)["version"].items())
    pinned = "On each occasion the Python libraries were those that `requirements/lab.txt` pins at its revision."
    return f"{listed_versions}. {pinned}"


def decision() -> str:
    """Return eight questions that lead to a system, each with a stored number."""
    servers, limit, run, rates = map(reference, (LANGUAGES, LIMITS, "overview", at_rates.SCENARIO))
    publication = published()
    over = {"transport": published_tables.WELL_KNOWN_OVER, "placement": APART, "clients": 1}
    firsts = (run.first(system=name, **over) for name in published_tables.WELL_KNOWN)
    known = [case for case in firsts if case is not None]
    on_machines = [
        published_tables.levels_us(publication, published_tables.WELL_KNOWN_OVER, APART, name)
        for name in published_tables.WELL_KNOWN
    ]
    slowest_us = max(stats.quantile(times(run, case, "rtt").to_numpy(), 0.99) for case in known)

    def rate(system: str, measured: Run = servers) -> str:
        cases = measured.find(system=system, engine="wire")
        return quantity(max(measured.over_starts(case, "rate_per_s").middle for case in cases))

    def over_sockets(system: str, transport: str) -> str:
        row = publication.row(system, transport, APART, RTT_RATIO)
        return f"{of_occasions.ratio_text(row)} times a raw {transport} socket" if row else "not measured"

    rows = [
        (
            "Is a reply within 10 ms early enough, at a load far below [the server's "
            "limit](results.md#the-limit-of-each-server)?",
            "Speed does not decide between the eight systems of the [front page](../README.md).",
            f"On {len(publication.machines)} machines their medians were at most "
            f"{duration(max(map(max, on_machines)))}; in [one run](results.md#one-run-in-detail) with one caller on "
            f"separate CPUs, 99 % of the calls of each took at most {duration(slowest_us)}",
        ),
        (
            "If not, or at a higher load: how many requests per second, and how soon must 99 % be answered?",
            "The row of your rate, [below](#at-your-rate): response time and CPUs used",
            f"{at_rates.met(rates)} (one run)",
        ),
        (
            "Are both on one machine, and does each microsecond count?",
            "Thrift for typed interfaces, or ZeroMQ for messages of your own",
            f"Thrift: {over_sockets('thrift', 'ipc')}, ZeroMQ: {over_sockets('zeromq', 'ipc')} (on separate CPUs)",
        ),
        (
            "Are callers written in several languages?",
            "HTTP, gRPC, Thrift (measured here: `thriftpy2`, in Python) or a broker; `rpyc`, `pyro5` and `pipes` are "
            "for Python alone",
            "[Servers in other languages](services.md#servers-in-other-languages)",
        ),
        (
            "Must browsers, proxies or `curl` reach it?",
            "HTTP",
            f"One CPU answers {rate('http_go')} requests/s of 100 B in Go, {rate('http_fastapi')} in Python (FastAPI)",
        ),
        (
            "Do several teams share typed interfaces, or need streams?",
            "gRPC; if browsers call it too, `connect`: protobuf over HTTP/1.1",
            f"One CPU answers {rate('grpc_go')} calls/s of 100 B in Go, {rate('grpc_sync')} in Python (`grpc_sync`)",
        ),
        (
            "Must callers not know the server's address?",
            "a broker: NATS, Redis or MQTT",
            f"One CPU for broker and server answers {rate('nats', limit)} calls/s of 1,000 B over NATS, "
            f"{rate('redis', limit)} over Redis, {rate('mqtt', limit)} over MQTT",
        ),
        (
            "Must a request survive the end of a server?",
            "a broker that keeps it: RabbitMQ quorum queues, NATS JetStream",
            kept_until_acknowledged(),
        ),
    ]
    frame = pd.DataFrame(rows, columns=["question", "if yes", "what the stored runs say"])
    return paragraphs(with_structure(), markdown(frame.set_index("question")), with_work(publication))


AT_LEAST_ONCE = "fanin.at-least-once"  # the scenario whose stored run has brokers that keep requests


def kept_until_acknowledged() -> str:
    """Return how long a call takes if the broker keeps each request until it is acknowledged."""
    run = reference(AT_LEAST_ONCE)
    names = {"nats": "NATS JetStream", "rabbitmq": "RabbitMQ quorum queues"}
    single = {run.case(case).system: case for case in reversed(run.find(under_way=1))}
    known = [f"{duration(run.over_starts(single[name], P50).middle)} over {words}" for name, words in names.items()
             if name in single]  # fmt: skip
    case = run.case(run.numbers[0])
    measured = f"{case.payload_bytes:,} B, {IN_WORDS[case.placement]}, a broker of one node"
    return f"One call ({measured}): {', '.join(known)}"


WORK_MS = (0.3, 3.0, 30.0)  # of a server on a request


def with_structure() -> str:
    """Return what a structured message costs over HTTP and over gRPC, in one run."""
    run = reference("messages")
    cases = [run.first(system=name, message="items", payload_bytes=2000) for name in ("http_aiohttp", "grpc_sync")]
    http, grpc = (
        f"{spread.words(duration)} (range over starts {duration(spread.low)} to {duration(spread.high)})"
        for spread in (run.over_starts(case, P50) for case in cases if case is not None)
    )
    return (
        f"Between Python programs, a call with a structured message of 2,000 B took {http} over HTTP with JSON and "
        f"{grpc} over gRPC with protobuf ([one run](examples/messages.md))."
    )


def with_work(publication: Published) -> str:
    """Return how much longer a call over the slowest system takes if its server works for ``WORK_MS`` on a request."""
    means_us = [published_tables.mean_us(publication, name) for name in published_tables.WELL_KNOWN]
    works_us = [1e3 * work for work in WORK_MS]
    apart = [f"{(max(means_us) + us) / (min(means_us) + us):.3g}" for us in works_us]
    return (
        f"**If the server works for {listed(map(duration, works_us), 'or')} on a request, a call over the "
        f"slowest of the eight systems takes {listed(apart, 'or')} times as long as over the fastest.** (Calculated: "
        f"the work plus the median RTT of the [front page](../README.md), {published_tables.rounded(min(means_us))} to "
        f"{published_tables.rounded(max(means_us))}.)"
    )


CERTIFICATES = "data/referees"
TIMES = {*stored_certificate.GROUPS["median"], *stored_certificate.GROUPS["mean"], *stored_certificate.GROUPS["tail"]}


def certificates() -> str:
    """Return the verdict on each load generator, and the first of its times that were wrong."""
    made = []
    for row in in_order([stored_certificate.read(file) for file in (paths.home() / CERTIFICATES).glob("*.json")]):
        wrong = [(scenario, check) for scenario, check in row.checks() if check["verdict"] == NOT_HELD]
        times = [check["text"].partition(". It fits")[0] for _, check in wrong if check["name"] in TIMES]
        made.append(
            {
                "load generator": row.generator,
                "version": row.document["version"],
                "verdict": row.verdict,
                "scenario: check not held": ", ".join(f"`{scenario}`: {check['name']}" for scenario, check in wrong),
                "the first wrong time": next(iter(times), ""),
            }
        )
    return markdown(pd.DataFrame(made).set_index("load generator"))


LANGUAGES = "languages.servers"  # the scenario whose stored run compares servers in other languages
LIMITS = "explore.server-limits"  # the scenario whose stored run says how much each server can do
LIMITS_TEXT = (
    "Each server has its own CPU; on a machine with two CPUs, a broker shares this CPU with the server behind it. The "
    "load generator [wire](glossary.md#wire) sends prepared bytes on {connections} connections and verifies every "
    "reply. A rate is the server's capacity if the server's CPU is saturated (utilization above {full:.0%}) and the "
    "generator's CPU is not: this holds for {known} of {all} rows. *At least* means that the server may do more: the "
    "generator was the limit, or no CPU was saturated. `.venv/bin/bench run {scenario}` measures it on your "
    "machine."
)


def limits() -> str:
    """Return how many calls per second each server can answer at most; nothing where no run of it is stored."""
    if not (paths.reference() / LIMITS / "manifest.json").is_file():
        return ""
    run = reference(LIMITS)
    frame = result_tables.limits(run)
    asked = {case.system for case in run.plan.cases} | run.plan.absent.keys() | {"loopback"}
    others = sorted(set(published_tables.systems(published())) - asked)
    text = LIMITS_TEXT.format(
        connections=run.case(run.numbers[0]).callers,
        full=resources.FULL,
        known=(~frame.iloc[:, 0].str.startswith("at least")).sum(),
        all=len(frame),
        scenario=LIMITS,
    )
    absent = f"Not in the table, because wire cannot load them: {listed(f'`{name}`' for name in others)}."
    return paragraphs("## The limit of each server", text, absent * bool(others), markdown(frame), panels.caption(run))


def servers() -> str:
    """Return the capacity, CPU time per call and memory of servers in other languages."""
    run = reference(LANGUAGES)
    return paragraphs(markdown(languages.tables["servers"](run)), panels.caption(run))


def one_run() -> str:
    """Return the levels of overview's reference run; its ratios are those of all occasions."""
    run = reference("overview")
    whole = {
        "Round trips": result_tables.calls(run).drop(columns=["payload [B]", "starts", "n", "p99.9"]),
        "CPU time, context switches, memory": result_tables.costs(run),
    }
    parts = []
    for heading, placement in itertools.product(whole, (APART, SHARED)):
        cases = overview.ranked(run, run.find(placement=placement))
        names, shared = distinguished([run.label_parts[case] for case in cases], with_system=True)
        frame = whole[heading].loc[[run.labels[case] for case in cases]]
        table = markdown(frame.set_axis(names).rename_axis(f"case{shared}"))
        parts.append(f"### {heading}: {IN_WORDS[placement]}\n\n{table}")
    return paragraphs(panels.caption(run), caution(run), WORDS_OF_TABLES, *parts)


WORDS_OF_TABLES = (
    'Two values with "or": the two middle starts, which are more than 10 % apart. "In these calls": one start has too '
    "few calls for the quantile, so it is that of all calls ([how to read a table](reading-a-notebook.md))."
)


def rates() -> str:
    """Return what requests take, and how many CPUs they use, at three rates."""
    run = reference(at_rates.SCENARIO)
    words = f"{at_rates.TITLE} p99 of the response time, and CPUs used, of each system."
    shown = f"![{words}]({Path(at_rates.PICTURE).name})"
    return paragraphs(at_rates.sentences(run), shown, markdown(at_rates.table(run)), panels.caption(run))


def choosing() -> str:
    """Return each question of someone who chooses a stack, and the answer of a stored run."""
    asked = []
    for question, stem, estimands in NEEDS:
        run = reference(stem)
        made = of_run(run).statements(run, estimands)
        placed = listed(IN_WORDS[place] for place in sorted(run.cases["placement"].unique()))
        asked += [f"**{question}** ([the run](examples/{stem}.md); {placed})", as_markdown(made)]
    return paragraphs(*asked)


OF_RATES = ("rate", "pacing", "client")  # the checks of whether a rate may be quoted


def caution(run: Run) -> str:
    """Return what a run's trust card says against its rates, or nothing where it lets them be quoted."""
    cautions = [check for check in checks.check(run) if check.name in OF_RATES and check.verdict == trust_card.CAUTION]
    if not cautions:
        return ""
    names = listed(f"`{check.name}`" for check in cautions)
    return (
        f'The [trust card](trust.md#the-trust-card) of this run says CAUTION for {names}: read its rates as "at least".'
    )


def card() -> str:
    """Return the trust card of overview's reference run."""
    return markdown(result_tables.card(checks.check(reference("overview"))))


def placement() -> str:
    """Return how placements compare, and how much the starts of each vary."""
    run = reference("placement")
    return paragraphs(of_run(run).conclusion(run), panels.caption(run))


def campaign() -> str:
    """Return how often each part of the last `make campaign` tried to break something, and how much failed."""
    parts = json.loads((paths.home() / "docs" / "campaign.json").read_text("utf-8"))["parts"].values()
    rows = [[part["what"], f"{part['tries']:,}", f"{part['failures']:,}"] for part in parts]
    return markdown(pd.DataFrame(rows, columns=["what was done", "tries", "failures"]).set_index("what was done"))


def tested(runs: int = RUNS) -> str:
    """Return the certificate as `.venv/bin/bench calibrate` prints it; takes minutes."""
    lines = list(certificate(runs))
    printed = "\n".join([*map(str, lines), verdict(lines, runs)])
    return f"```text\n{printed}\n```"


def wrong_verdicts() -> str:
    """Return how often verdicts are wrong by the kind of noise; takes four minutes."""
    return _of_frame(verdicts.table(), verdicts.capacities_text())


def expected() -> str:
    """Return what each question should give on any machine, and what its reference run gave; DataError without it."""
    ranges = yaml.safe_load((paths.home() / EXPECTATIONS).read_text("utf-8"))
    rows = []
    for question in questions.ALL:
        run = reference(question.notebook)
        answer = questions.measured(run, question)
        if answer is None:
            raise DataError(f"reference/{question.notebook} does not answer {question.name}: measure it anew")
        wanted = ranges[question.name]
        low, high = wanted["low"], wanted["high"]
        inside = "inside" if low <= answer.middle <= high else "**outside**"
        span = f"{low:g} to {high:g} {question.unit}"
        ends = "{1} to {2}".format(*question.shown(answer))
        answer_text = f"{question.in_words(answer)} ({question.spread} {ends}): {inside}"
        machine, conditions = run.manifest["machine"], questions.conditions(run, question)
        conditions += f"; {machine['cpu_model']}, {machine['cpus_allowed']} CPUs"
        rows.append([question.notebook, question.text, span, wanted["why"], answer_text, conditions])
    columns = [
        "notebook",
        "question",
        "expected range",
        "because",
        "reference run",
        "transport; placement; payload; machine of the run",
    ]
    return paragraphs(markdown(pd.DataFrame(rows, columns=columns).set_index("notebook")), by_placement())


def by_placement() -> str:
    """Return gRPC's ratio to raw sockets on one CPU and on separate CPUs, of one run, and why they differ."""
    run, texts = reference("overview"), {}
    for name in ("same", "split"):
        grpc, sockets = (
            run.first(system=system, transport="ipc", placement=name, clients=1) for system in ("grpc_sync", BASELINE)
        )
        if grpc is None or sockets is None:
            raise DataError(f"reference/overview has no gRPC or no raw sockets on {IN_WORDS[name]}: measure it anew")
        interval = contrast.ratio(run, sockets, grpc, P50).interval
        value, *ends = ratio_ends(interval.middle, interval.low, interval.high)
        times_of = listed(duration(run.cases.loc[case, P50]) for case in (grpc, sockets))
        texts[name] = f"{value} (95 % CI {' to '.join(ends)}) {IN_WORDS[name]} ({times_of})"
    return (
        "**The ratio of gRPC depends on the placement.** In the run of `overview` the median RTT of gRPC (`grpc_sync`) "
        f"divided by that of raw sockets is {texts['same']}, and {texts['split']}. On separate CPUs each round trip "
        "wakes the other CPU twice. That is several times the short round trip of raw sockets on one CPU, and little "
        "beside that of gRPC, so the ratio is smaller. The class runs on one CPU; the ratios in the "
        "[README](../../README.md) are of separate CPUs."
    )


def deviations() -> str:
    """Return what each deviation from a library's own defaults costs, or how to measure that."""
    table = fairness.table()
    return _of_frame(*table) if table else f"Nothing is stored yet in {fairness.FILE}."


def stored_tables() -> str:
    """Return the tables of a run on disk: what each holds, and its columns with type, unit and meaning."""
    purposes = dict(re.findall(r"- ``(\w+)``: (.+?)(?=\n- |\n\n)", schema.__doc__ or "", re.S))
    parts = []
    for name, table in schema.TABLES.items():
        rows = [
            [f"`{field.name}`", str(field.type), field.metadata[b"unit"].decode(), field.metadata[b"meaning"].decode()]
            for field in table
        ]
        frame = pd.DataFrame(rows, columns=["column", "type", "unit", "meaning"]).set_index("column")
        purpose = " ".join(purposes[name].split())
        parts.append(f"### {name}\n\n{purpose[0].upper()}{purpose[1:]}.\n\n{markdown(frame)}")
    return "\n\n".join(parts)


FROM_RUNS: dict[str, Makers] = {
    "README.md": {"summary": summary},
    "docs/systems.md": {"systems": catalogue},
    "docs/tools.md": {"certificates": certificates},
    "docs/origins.md": {"origins": origins},
    "docs/anatomy.md": {
        "totals": functools.partial(anatomy_table, "totals", COUNTS),
        "longer": why_longer,
        **{name: functools.partial(anatomy_table, name) for name in ("breakdown", "user", "added", "counts")},
        **{name: functools.partial(anatomy_table, name, "whatif") for name in ("predictions", "after_waiting")},
    },
    "docs/results.md": {"results": results},
    "docs/choosing.md": {"decision": decision, "rates": rates, "choosing": choosing},
    "docs/fairness.md": {"fairness": deviations},
    "docs/services.md": {"servers": servers},
    "docs/data.md": {"tables": stored_tables},
    "docs/guarantees.md": {"guarantees": guarantees},
    "docs/hosts.md": {"cost": lambda: _of_frame(*hosts_cost.cost())},
    "docs/trust.md": {
        "card": card,
        "placement": placement,
        "campaign": campaign,
        "resolution": lambda: _of_frame(*resolution.table()),
        "alarms": lambda: _of_frame(*quiet.table()),
        "anatomy": lambda: _of_frame(*anatomy.table()),
        "count_gate": lambda: _of_frame(*count_gate.table()),
    },
    "docs/teaching/expected.md": {"expected": expected},
}
BY_TESTING: dict[str, Makers] = {"docs/trust.md": {"certificate": tested, "verdicts": wrong_verdicts}}


def _of_frame(frame: pd.DataFrame, *sentences: str) -> str:
    return "\n\n".join([markdown(frame), *sentences])


def names(document: str) -> list[str]:
    """Return the names of a document's blocks, in their order."""
    return [block["name"] for block in BLOCK.finditer(document)]


def filled(document: str, makers: Makers) -> str:
    """Return a document with the blocks that have a maker written anew; others stay as they are.

    DataError where a maker's block is missing, or a marker has no other end.
    """
    if document.count("<!-- generated: ") != 2 * len(names(document)):
        raise DataError("a marker of a generated block is missing: <!-- generated: NAME (make expected) -->")
    if missing := sorted(set(makers) - set(names(document))):
        raise DataError(f"the document has no place for {missing[0]}: <!-- generated: {missing[0]} (make expected) -->")
    return BLOCK.sub(
        lambda block: f"{block[1]}\n\n{makers[block['name']]()}\n\n{block[4]}" if block["name"] in makers else block[0],
        document,
    )


def write(documents: Mapping[str, Makers]) -> None:
    """Write the blocks of each document anew, and print its name."""
    for name, makers in documents.items():
        print(name, flush=True)
        file = paths.home() / name
        file.write_text(filled(file.read_text("utf-8"), makers), "utf-8")


PICTURES: dict[str, tuple[Callable[[], Figure], str, int]] = {  # each with its title if it is of occasions, and dpi
    FORECAST_PICTURE: (
        lambda: forecast_picture.draw(published(), of_occasions.described(published())),
        forecast_picture.TITLE,
        100,
    ),
    FRONT_PICTURE: (lambda: front.draw(published(), reference(ANATOMY)), overview.TITLE, 100),
    PICTURE: (lambda: ratios_picture.draw(published(), overview.TITLE), overview.TITLE, 150),
    at_rates.PICTURE: (lambda: at_rates.draw(reference(at_rates.SCENARIO)), "", 100),
    ANATOMY_PICTURE: (lambda: panels.panel(reference(ANATOMY), "breakdown"), "", 100),
}


def picture(name: str) -> None:
    """Draw a picture of the documents, and print its name."""
    print(name, flush=True)
    draw, title, dpi = PICTURES[name]
    metadata = ratios_picture.provenance(published(), title) if title else {}
    draw().savefig(paths.home() / name, format="png", dpi=dpi, metadata={**metadata, "Software": None})


def main() -> None:
    """Do what is named, one after another; an error is one line."""
    commands: dict[str, Callable[[], object]] = {
        "expected": lambda: write(FROM_RUNS),
        "certificate": lambda: write(BY_TESTING),
        "picture": lambda: [picture(name) for name in PICTURES],
    }
    parser = argparse.ArgumentParser(description="Write the parts of the documents that quote measured numbers.")
    parser.add_argument("what", choices=commands, nargs="+")
    try:
        for what in parser.parse_args().what:
            commands[what]()
    except BenchError as error:
        sys.exit(f"docs/write.py: {error}")


if __name__ == "__main__":
    main()
