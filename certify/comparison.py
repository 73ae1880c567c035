"""Certificates of several load generators in a notebook: stored ones, and those of generators that are certified now.

``rows = comparison.gather("reference", "installed")``, then ``comparison.show``, ``tell``, ``table`` and ``save``.
"""

from collections.abc import Sequence
from pathlib import Path

from IPython.display import Markdown, display

from bench.errors import BENCH, DataError
from bench.grammar import figure as panels
from bench.grammar.display import show_figure, show_frame, show_saved
from bench.grammar.figure import first_sentence as finding
from bench.measurement import machine
from bench.plan import parameters, paths
from bench.run.files import make_folder, writing
from bench.text import counted, harmless, listed, one_line, unmarked
from certify import (
    capacity_comparison,
    capacity_report,
    certificate,
    certificate_report,
    comparison_figure,
    generator_file,
    scenarios,
    stored_certificate,
)
from certify.check import HELD, NOT_DECIDED, NOT_HELD
from certify.stored_certificate import ALL_SENT, GROUPS, OWN, Row, of_group

REFERENCE, INSTALLED = "reference", "installed"
LONGEST_S = 3600.0


def gather(certificates: str = REFERENCE, generator: object = "", seconds: object = 70.0) -> list[Row]:
    """Return the certificates in a folder, those of some generators made now in their place.

    certificates: ``reference``, or a folder of files that ``certify --json`` wrote. generator: names or files, or
    ``installed``, each certified now for so many seconds and kept in data/certificates. DataError without any.
    """
    folder, length_s = _folder(certificates), parameters.positive(seconds, "seconds", LONGEST_S, whole=False)
    made = [_certified(name, length_s) for name in _asked(generator)]
    stored = map(stored_certificate.read, sorted(folder.glob("*.json")))
    rows = {row.generator: row for row in (*stored, *made)}
    if not rows:
        raise DataError(f"{paths.shown(folder)} holds no certificate: write one with bench certify NAME --json FILE")
    others = counted(len(rows) - len(made), "stored certificate")
    print(f"{counted(len(made), 'load generator')} certified here; {others} read")
    if certificates == REFERENCE and (missing := [name for name in generator_file.names() if name not in rows]):
        print(
            f"No certificate of {listed(missing)} is stored here: install it, then -p generator {missing[0]} makes one"
        )
    return stored_certificate.in_order(list(rows.values()))


def _folder(certificates: str) -> Path:
    return paths.home() / "data" / "referees" if certificates == REFERENCE else Path(certificates)


def capacities(certificates: str = REFERENCE) -> None:
    """Show the load generators' capacities that ``certify --capacity --json`` wrote into the folder ``capacity`` there.

    Generators without such a file are left out.
    """
    folder = _folder(certificates) / "capacity"
    measurements = [capacity_report.read(file) for file in sorted(folder.glob("*.json"))]
    if not measurements:
        print(f"No capacity is stored in {paths.shown(folder)}: see {BENCH} certify --help, --capacity")
        return
    summary = capacity_comparison.conclusion(measurements)
    show_frame(capacity_comparison.table(measurements).set_index("generator"))
    show_figure(capacity_comparison.draw(measurements), f"Capacity of load generators: {unmarked(summary)}")
    summary += f" Measured on {listed(dict.fromkeys(measurement.machine for measurement in measurements))}."
    display(Markdown("\n".join([summary, "", *(f"- {line}" for line in capacity_comparison.findings(measurements))])))


def _asked(generator: object) -> list[str]:
    """Return the names of the generators that are certified now."""
    names = [str(name) for name in parameters.as_list(generator) if name]
    return installed() if names == [INSTALLED] else names


def installed() -> list[str]:
    """Return the generators with a file here whose program is installed."""
    return [name for name in generator_file.names() if generator_file.load(name).is_installed]


def _certified(name: str, seconds: float) -> Row:
    """Certify a generator, keep its certificate; return its row."""
    generator = generator_file.load(name)
    chosen = scenarios.of_loads(generator.loads, scenarios.scenarios(seconds=seconds, protocol=generator.says.protocol))
    certification = certificate.certify(generator, chosen, lambda line: print(f"{generator.name}, {line}"))
    folder = paths.workplace() / "data" / "certificates"
    make_folder(folder, "ROUNDTRIP_HOME")
    with writing(folder / f"{generator.name}.json") as file:
        file.write_text(certificate_report.as_json(certification), "utf-8")
    return Row(certificate_report.document(certification), is_stored=False)


def show(rows: Sequence[Row], *names: str) -> None:
    """Show panels of the figure, named as the functions in ``certify.comparison_figure``."""
    for name in names:
        drawn = comparison_figure.draw(rows, name)
        show_figure(drawn, f"{drawn.axes[0].get_title(loc='left')}: {finding(conclusion(rows))}")


def tell(rows: Sequence[Row]) -> None:
    """Show the conclusion, and each check that is not held in its sentence."""
    display(Markdown("\n".join([conclusion(rows), "", *(f"- {line}" for line in findings(rows))])))


def conclusion(rows: Sequence[Row]) -> str:
    """Return whose reports are true, whose loads are as asked, and what is not held most often."""
    true = [row for row in rows if row.holds(of_load=False)]
    resent = [row.name for row in true if row.has_resent]
    frozen = [row.name for row in true if row.scenario(comparison_figure.FROZEN)] or ["none"]
    as_asked = [row.name for row in rows if row.holds(of_load=True)]
    verdicts = {kind: [of_group(row, names) for row in rows] for kind, names in GROUPS.items()}
    worst_kind = max(verdicts, key=lambda kind: verdicts[kind].count(NOT_HELD))
    failed = verdicts[worst_kind].count(NOT_HELD)
    sentences = [
        f"**All checks of the report are held in {len(true)} of {counted(len(rows), 'certificate')}**"
        + (f": {listed(row.name for row in true)}." if true else "."),
        f"These are certificates of {_tools(true)}, and all {len(rows)} are of {_tools(rows)}." if true else "",
        f"Left out, as no server can decide it: whether {listed(resent)} sent failed requests again." if resent else "",
        f"Coordinated omission is judged in one scenario alone, an open load over {scenarios.FEW} connections to a "
        f"server that freezes. Of those whose report is true, {listed(frozen)} made that load.",
        f"**All checks of the load are held in {len(as_asked)}**" + (f": {listed(as_asked)}." if as_asked else "."),
        f"The kind of check that is not held most often is {worst_kind} ({failed} of "
        f"{sum(map(bool, verdicts[worst_kind]))} that have it)."
        if failed
        else "",
    ]
    return " ".join(filter(None, sentences))


def _tools(rows: Sequence[Row]) -> str:
    """Return of how many tools some certificates are, and how many certificates are this project's own."""
    own = sum(row.tool == OWN for row in rows)
    return f"{counted(len({row.tool for row in rows}), 'tool')} ({counted(own, 'certificate')} of this project's own)"


def findings(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each check that is not held, below its generator's name."""
    return [
        f"**{row.name}**, {scenario}, {check['name']}: {one_line(harmless(check['text']), 400)}"
        for row in rows
        for scenario, check in row.checks()
        if check["verdict"] == NOT_HELD
    ]


def unsent(rows: Sequence[Row]) -> None:
    """Show which generators report how many requests they did not send, where they could not send all."""
    display(Markdown(not_sent(rows)))


def not_sent(rows: Sequence[Row]) -> str:
    """Return which generators report how many requests of ``overload`` they did not send, and which do not."""
    reports, silent, all_sent = list[str](), list[Row](), list[str]()
    for row in rows:
        if not (scenario := row.scenario("overload")):
            continue
        due = round(scenario["rate_per_s"] * scenario["duration_s"])
        if dropped := (scenario["reported"] or {}).get("dropped"):
            reports.append(f"{row.name} ({dropped:,.0f} of {due:,} requests)")
        elif scenario["requests"] < ALL_SENT * due:
            silent.append(row)
        else:
            all_sent.append(row.name)
    is_one, who = len(reports) < 2, listed(reports or ["No generator"])
    words = [
        "An open load of twice what its connections can carry (`overload`) shows it.",
        f"**{who} report{'s' * is_one} how many {'it' if is_one else 'they'} did not send.**",
    ]
    if silent:
        names = listed(row.name for row in silent)
        words.append(f"These send fewer than are due, and no number of those left out is read: {names}.")
        if all(row.check("overload", "rate-reported").get("verdict") == HELD for row in silent):
            words.append("Each of them reports the rate that it delivered, which is below the one asked for.")
    words += [f"These send all that are due, if need be late: {listed(all_sent)}."] if all_sent else []
    return " ".join(words)


def table(rows: Sequence[Row]) -> None:
    """Show how many checks of each generator are held."""
    made = ["stored" if row.is_stored else "here" for row in stored_certificate.in_order(rows)]
    shown = stored_certificate.table(rows)[["generator", "verdict", HELD, NOT_HELD, NOT_DECIDED]].assign(made=made)
    show_frame(shown.set_index("generator"))


def meanings(rows: Sequence[Row]) -> None:
    """Show what each generator's numbers mean by its own documentation."""
    lines = [f"- **{row.name}**: {one_line(harmless(row.document['percentiles']), 2000)}" for row in rows]
    display(Markdown("\n".join(lines)))


def save(rows: Sequence[Row]) -> None:
    """Save the whole figure as SVG and PNG, and show it."""
    drawn = panels.framed(comparison_figure.whole(rows), comparison_figure.TITLE, caption(rows))
    metadata = panels.origin("referees", comparison_figure.TITLE, "certificates", "", machine.git_revision())
    show_saved(panels.write(drawn, "referees", metadata), f"{comparison_figure.TITLE} {finding(conclusion(rows))}")


def caption(rows: Sequence[Row]) -> str:
    """Return what the reader must know to judge the figure."""
    here, stored = ([row for row in rows if row.is_stored is kept] for kept in (False, True))
    machines = listed(dict.fromkeys(row.made_on for row in stored))
    hollow = f" Hollow: stored certificates, of other times or machines ({machines})." if here and stored else ""
    words = ", ".join(f"{row.name} {row.verdict}" for row in rows)
    return (
        f"{counted(len(rows), 'certificate')}, each of scenarios against a server that records every arrival and "
        f"departure: {words}.{hollow} An empty place: the generator cannot make that load, or reports no such number, "
        "it was not measured, or in too few requests."
    )
