"""A certificate as text, and as a JSON document."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from bench.stats import quantile
from bench.text import counted, duration, listed, one_line, quantity
from certify import report, time_checks
from certify.certificate import VERDICTS, Certificate, Section, machine
from certify.check import HELD, NOT_DECIDED, NOT_HELD
from certify.observation import Observation
from certify.protocols import PROTOCOLS

FORMAT = 2


def text(certificate: Certificate, every: bool = False) -> str:
    """Return it for people: the verdict, then the scenarios with the checks that are not held, or with every check."""
    verdicts = [check.verdict for check in certificate.checks]
    counts = listed(f"{verdicts.count(word)} {word}" for word in (HELD, NOT_HELD, NOT_DECIDED))
    lines = [
        f"{certificate.name}: {VERDICTS[certificate.outcome]}. {counted(len(verdicts), 'check')}: {counts}.",
        front(certificate),
    ]
    for section in certificate.sections:
        scenario = section.seen.scenario
        lines += ["", f"{scenario.name}: {scenario.title}", f"  {facts(section.seen)}"]
        shown = [check for check in section.checks if every or check.verdict != HELD]
        lines += [f"  {check.verdict.upper():<12}{check.name}: {check.text}" for check in shown]
        if held := [check.name for check in section.checks if check not in shown]:
            lines.append(f"  {HELD:<12}{', '.join(held)}")
    meaning = one_line(certificate.generator.says.percentiles, 2000)
    return "\n".join([*lines, "", f"What its numbers mean, from its documentation: {meaning}"])


def front(certificate: Certificate) -> str:
    """Return a sentence on the server: its protocol, and what the way to it takes."""
    title = PROTOCOLS[certificate.generator.says.protocol].title
    added = listed(
        f"{duration(path.p50)} (p99 {duration(path.p99)}) to {load} loads" for load, path in certificate.paths.items()
    )
    return f"The server speaks {title}; the way to it and back adds {added} here."


def facts(seen: Observation) -> str:
    """Return what is known of a scenario beside its checks: CPU time per request, start-up, the front's lateness."""
    record, used = seen.record, seen.cpu_us_per_request
    if not len(record.answered):
        return "No request was answered."
    cpu = f"the generator used {duration(used)} of CPU time per request; " if used is not None else ""
    before = f"{counted(seen.warm_up, 'request')} before the load left out; " if seen.warm_up else ""
    late = duration(quantile(record.lateness_us, 0.99))
    return (
        f"{before}{len(record.answered):,} answers, {quantity(record.arrivals_per_s)} requests/s; {cpu}departures were "
        f"late by {late} (p99); other processes used {seen.others_share:.0%} of the CPU time."
    )


def document(certificate: Certificate) -> dict[str, Any]:
    """Return it as JSON takes it, with the units in the names."""
    return {
        "format": FORMAT,
        "generator": certificate.generator.name,
        "version": certificate.version,
        "protocol": certificate.generator.says.protocol,
        "verdict": VERDICTS[certificate.outcome],
        "machine": machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "path_us": {load: asdict(path) for load, path in certificate.paths.items()},
        "percentiles": certificate.generator.says.percentiles,
        "scenarios": [_section(section) for section in certificate.sections],
    }


def _section(section: Section) -> dict[str, Any]:
    seen, record = section.seen, section.seen.record
    true, late_us = {}, None
    if len(record.answered):
        values, since = time_checks.true_times_us(seen)
        true = {name: quantile(values, p) for name, p in time_checks.QUANTILES.items()} | {"since": since}
        late_us = quantile(record.lateness_us, 0.99)
    return {
        **asdict(seen.scenario),
        "requests": len(record.requests),
        "warm_up": seen.warm_up,
        "answered": len(record.answered),
        "faults": record.faults,
        "arrivals_per_s": record.arrivals_per_s,
        "answers_per_s": record.answers_per_s,
        "lateness_p99_us": late_us,
        "others_cpu_share": seen.others_share,
        "generator_cpu_us_per_request": seen.cpu_us_per_request,
        "true_us": true,
        "reported": report.as_dict(seen.reported) if seen.reported else None,
        "checks": [asdict(check) for check in section.checks],
    }


def as_json(certificate: Certificate) -> str:
    """Return the document as text."""
    return json.dumps(document(certificate), indent=1, ensure_ascii=False) + "\n"
