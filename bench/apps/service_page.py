"""``python -m bench service FILE``: a service measured, and one page about it, as HTML and as JSON."""

import base64
import json
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from bench import paths, systems
from bench.analysis import checks
from bench.apps import notebook
from bench.drawing.axes import style
from bench.experiments import panels, registry, sentences, tables
from bench.experiments.capacity import findings
from bench.plan import service_file
from bench.plan.objective import objective as read_objective
from bench.run.files import write_bytes
from bench.run.frames import Run, column

Say = Callable[[str], None]
STYLE = "body{font:16px/1.5 sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}img{max-width:100%}"
STYLE += (
    "table{border-collapse:collapse;font-size:13px}td,th{padding:2px 8px;text-align:left;border-bottom:1px solid #ddd}"
)
QUANTILES = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99, "p999_us": 0.999}


def measure(file: str, objective: str, clients: int, profile: str, say: Say) -> tuple[Run, Run]:
    """Measure the round trips and the capacity of a service; return both runs. UsageError for a file that is none."""
    read_objective(objective)
    name = systems.adopt(file)
    service = service_file.read(systems.file_of(name))
    say(described(service))
    shared: dict[str, Any] = {"system": name, "transport": service.transport, "profile": profile}
    latency = notebook.measure("latency", **shared)
    return latency, notebook.search(**shared, objective=objective, clients=clients)


def described(service: service_file.Service) -> str:
    """Return what is measured, in words, and which replies are not checked."""
    requests = service.says.requests
    if recorded := service.recording:
        count, last_s = len(recorded.requests), recorded.requests[-1].at_s
        text = f"{service.name}: {count:,} recorded requests, one after the other"
        text += f" ({(count - 1) / last_s:.3g} per second in the recording)" if last_s else ""
        if recorded.elsewhere:
            text += f"; {recorded.elsewhere:,} requests without a reply or to other servers are left out"
        if recorded.dropped:
            names = ", ".join(recorded.dropped)
            text += f"; not sent, since they may hold secrets: {names}; write them under headers, with {{env:NAME}}"
        return text
    total = sum(request.weight for request in requests)
    mix = ", ".join(f"{request.name} {request.weight / total:.0%}" for request in requests)
    text = f"{service.name}: {mix} of the requests"
    if loose := [request.name for request in requests if request.expect == service_file.Expect()]:
        text += f"; replies to {', '.join(loose)} are not checked beyond a status below 400"
    return text


def headline(latency: Run, capacity: Run) -> dict[str, Any]:
    """Return the numbers of the page: medians over starts with their ranges; None where a number is not known."""
    case = next(case for case in latency.numbers if latency.case(case).system not in ("sockets", "loopback"))
    low, high = findings.bracket(capacity)
    at = findings.case_at(capacity, low) if low else None
    return {
        "service": latency.case(case).system,
        "round_trip": {name: _spread(latency, case, column(p)) for name, p in QUANTILES.items()}
        | {"calls_per_s": _spread(latency, case, "rate_per_s")},
        "cpu_us_per_call": {role: _spread(latency, case, f"{role}_cpu_us_per_call") for role in ("client", "server")},
        "capacity": {
            "objective": findings.searched(capacity)["objective"],
            "met_at_per_s": low or None,
            "violated_at_per_s": high or None,
            "is_at_least": bool(low) and findings.is_at_least(capacity),
            "machine_shows_it": findings.machine_shows(capacity),
            "server_cpu_us_per_call": _spread(capacity, at, "server_cpu_us_per_call") if at is not None else None,
        },
        "runs": {"latency": latency.id, "capacity": capacity.id},
        "checks": {
            run.plan.notebook: {check.name: check.verdict for check in checks.check(run)} for run in (latency, capacity)
        },
        "sources": latency.manifest.get("sources"),
    }


def _spread(run: Run, case: int, name: str) -> dict[str, float] | None:
    """Return the median over starts and its range, None where it is not known."""
    values = run.starts_of(case)[name].dropna()
    if values.empty:
        return None
    return {"median": float(values.median()), "low": float(values.min()), "high": float(values.max())}


def text(latency: Run, capacity: Run) -> str:
    """Return what the page says first, as plain text."""
    said = (sentences.conclusion(latency), sentences.conclusion(capacity))
    return "\n\n".join(part.replace("**", "") for part in said)


def write(latency: Run, capacity: Run, folder: Path) -> tuple[Path, Path]:
    """Write the page and its numbers into a folder, named after the service; return their paths."""
    numbers = headline(latency, capacity)
    page, data = (folder / f"{numbers['service']}.{kind}" for kind in ("html", "json"))
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(data, json.dumps(numbers, indent=1).encode() + b"\n")
    write_bytes(page, _html(numbers["service"], latency, capacity).encode())
    return page, data


def _html(name: str, *runs: Run) -> str:
    parts = [f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(name)}</title><style>{STYLE}</style>"]
    parts.append(f"<h1>{escape(name)}</h1>")
    for run in runs:
        parts.append(f"<h2>{escape(registry.figure_of(run.plan.notebook).TITLE)}</h2>")
        parts.append(f"<p>{_bold(sentences.conclusion(run))}</p>")
        parts.append(f'<img alt="{escape(panels.alt_text(run))}" src="data:image/png;base64,{_png(run)}">')
        parts.append(f"<details><summary>Trust card</summary>{_table(tables.card(checks.check(run)))}</details>")
        parts += [f"<details><summary>Numbers</summary>{_table(frame)}</details>" for frame in tables.results(run)]
        parts.append(f"<p><small>{escape(sentences.measured(run))}</small></p>")
    return "\n".join(parts)


def _bold(text: str) -> str:
    """Return text as HTML, with what is between ** in bold; paragraphs as lines."""
    pieces = escape(text).split("**")
    joined = "".join(f"<b>{piece}</b>" if number % 2 else piece for number, piece in enumerate(pieces))
    return joined.replace("\n\n", "<br>")


def _table(frame: Any) -> str:
    return str(frame.reset_index().to_html(index=False, border=0))


def _png(run: Run) -> str:
    import io

    buffer = io.BytesIO()
    with style():
        panels.whole(run).savefig(buffer, format="png", dpi=100)
    return base64.b64encode(buffer.getvalue()).decode()


def shown(files: tuple[Path, ...]) -> str:
    """Return where the files are."""
    return "Page and numbers: " + ", ".join(paths.shown(file) for file in files)
