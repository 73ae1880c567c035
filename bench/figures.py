"""Figures: panels drawn from a run's frames, put together for each notebook, saved with their provenance.

A panel is a function of a run and an Axes. Nothing here measures, and no style is set at import.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from bench import paths, stats
from bench.params import listed
from bench.results import Run, column

Panel = Callable[[Run, Axes], None]

LINE_STYLES = {"inproc": ":", "ipc": "-", "tcp": "--"}
MARKERS = {"inproc": "^", "ipc": "o", "tcp": "s"}
ROLE_COLOURS = {"client": "#0173b2", "server": "#de8f05", "router": "#029e73"}  # seaborn's "colorblind"
PLACEMENT_COLOURS = {"split": "#0173b2", "same": "#de8f05", "free": "#029e73"}
GREY = "#6b6b6b"
MOST_DOTS = 60_000


@contextmanager
def style() -> Iterator[None]:
    """Apply the house style inside a ``with`` block: readable in print and on a projector."""
    fixed: dict[Any, Any] = {
        "svg.hashsalt": "roundtrip",  # the same run gives the same bytes
        "figure.dpi": 100,
        "savefig.dpi": 150,
        "axes.titleweight": "bold",
        "axes.titlesize": 12,
        "axes.titlelocation": "left",
        "font.size": 11,
        "axes.labelsize": 11,
        "legend.fontsize": 10,
        "grid.color": "#dddddd",
    }
    with mpl.rc_context(), sns.axes_style("whitegrid"):
        mpl.rcParams.update(fixed)
        yield


# --- words and scales ---------------------------------------------------------------------------------


def duration(us: float) -> str:
    """Return a time given in us with three digits and a unit that suits it."""
    for limit, factor, unit in ((1, 1e3, "ns"), (1e3, 1, "µs"), (1e6, 1e-3, "ms")):
        if us < limit:
            return f"{_three(us * factor)} {unit}"
    return f"{_three(us * 1e-6)} s"


def quantity(value: float, unit: str = "") -> str:
    """Return a number with three digits and k, M or G."""
    for limit, factor, letter in ((1e3, 1, ""), (1e6, 1e-3, "k"), (1e9, 1e-6, "M")):
        if abs(value) < limit:
            return f"{_three(value * factor)} {letter}{unit}".rstrip()
    return f"{_three(value * 1e-9)} G{unit}"


def _plain(text: str) -> str:
    """Return a number's text without zeros that say nothing: 1.00 ms is 1 ms on an axis."""
    number, _, unit = text.partition(" ")
    return f"{float(number):g} {unit}".rstrip()


def _three(value: float) -> str:
    if value != value:
        return "n/a"
    rounded = float(f"{value:.3g}")
    digits = 2 - int(np.floor(np.log10(abs(rounded)))) if rounded else 2
    return f"{rounded:.{min(max(digits, 0), 2)}f}"


def _log_axis(axis: Any, text: Callable[[float], str]) -> None:
    """Label a logarithmic axis in words: 1, 10, 100 and, where that leaves fewer than three, 2 and 5 too."""
    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    subs = (1.0,) if decades > 3 else (1.0, 2.0, 5.0) if decades > 1 else (1, 1.5, 2, 3, 4, 5, 6, 7, 8)
    axis.set_major_locator(LogLocator(subs=subs, numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _plain(text(value))))
    axis.set_minor_locator(NullLocator())


def _time_axis(axis: Any) -> None:
    _log_axis(axis, duration)


def colours(run: Run) -> dict[int, Any]:
    """Return a colour for each case, the same for equal system and transport; loopback is grey.

    The palette is one that colour-blind people can tell apart.
    """
    pairs = list(dict.fromkeys((case.system, case.transport) for case in run.plan.cases if case.system != "loopback"))
    palette = sns.color_palette("colorblind", 10)
    chosen = {pair: palette[place % len(palette)] for place, pair in enumerate(pairs)}
    return {i: chosen.get((case.system, case.transport), GREY) for i, case in enumerate(run.plan.cases)}


def _first_size(run: Run) -> list[int]:
    """Return the cases with a server of the first payload size: those that panels of single calls show."""
    cases = run.cases[(run.cases["load"] == "closed") & (run.cases["system"] != "loopback")]
    return [int(case) for case in cases.index[cases["payload_bytes"] == cases["payload_bytes"].iloc[0]]]


# --- panels: one round trip ---------------------------------------------------------------------------


def calls_in_order(run: Run, axes: Axes) -> None:
    """Draw every call in order: a lane for each case, its starts one behind the other, time inside each."""
    shown, colour = _first_size(run), colours(run)
    for lane, case in enumerate(shown):
        starts = run.ledger.index[run.ledger["case"] == case]
        for place, start in enumerate(starts):
            _lane(run, axes, start, lane + 0.04 + 0.92 * place / len(starts), 0.92 / len(starts), colour[case])
    axes.set_yscale("log")
    axes.set_xlim(0, len(shown))
    axes.xaxis.grid(False)
    for edge in range(1, len(shown)):
        axes.axvline(edge, color="#bbbbbb", lw=0.8)
    axes.set_xticks(np.arange(len(shown)) + 0.5, [run.labels[case].replace(" ", "\n", 1) for case in shown])
    axes.set_ylabel("RTT")
    _time_axis(axes.yaxis)
    axes.set_title("Every call, in order: starts side by side")


def _lane(run: Run, axes: Axes, start: int, left: float, width: float, colour: Any) -> None:
    """Draw one start's calls as dots and their running median as a line; the warm-up is pale."""
    rows = run.samples[run.samples["start"] == start]
    rows = rows.iloc[:: max(1, len(rows) * len(run.ledger) // MOST_DOTS)] if len(rows) > 400 else rows
    time, rtt = rows["t_send_ns"].to_numpy(), rows["rtt_ns"].to_numpy() / 1e3
    x = left + 0.94 * width * time / max(time[-1], 1)
    face = sns.desaturate(colour, 1)
    for warm, alpha in ((False, 0.12), (True, 0.35)):
        of = rows["warm"].to_numpy() == warm
        axes.plot(x[of], rtt[of], ".", ms=1.6, mew=0, color=face, alpha=alpha, rasterized=True)
    bins = np.array_split(np.arange(len(x)), min(25, len(x)))
    middle = [np.median(rtt[b]) for b in bins]
    axes.plot([x[b].mean() for b in bins], middle, color="black", lw=1, solid_capstyle="butt")


def _tail_scale(fractions: Any) -> Any:
    """Return heights for fractions: linear up to 90 %, then one step for each further nine."""
    fractions = np.asarray(fractions, float)
    tail = 1 - np.log10(np.maximum(1 - fractions, 1e-9))
    return np.where(fractions < 0.9, 2 * fractions / 0.9, tail)


def distribution(run: Run, axes: Axes) -> None:
    """Draw the distribution of all calls after the warm-up; above 90 % each further nine has equal height."""
    colour = colours(run)
    for case in _first_size(run):
        transport = run.plan.cases[case].transport
        _distribution_line(run, axes, case, colour[case], LINE_STYLES[transport], MARKERS[transport])
    _distribution_axes(axes)
    axes.set_title("Distribution, with p50, p90, p99, p99.9")


def _distribution_line(run: Run, axes: Axes, case: int, colour: Any, line: str, marker: str) -> None:
    rtt = run.rtt_us(case)
    values, fractions = stats.distribution(rtt)
    label = f"{run.labels[case]}, n = {len(rtt):,}"
    axes.plot(values, _tail_scale(fractions), lw=1.8, label=label, color=colour, ls=line)
    carried = [p for p in stats.QUANTILES if len(rtt) >= stats.needed_samples(p)]
    axes.plot([stats.quantile(rtt, p) for p in carried], _tail_scale(carried), marker, color=colour, ms=5.5)


def _distribution_axes(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.margins(x=0.02)
    _time_axis(axes.xaxis)
    ticks = (0, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999)
    axes.set_yticks(_tail_scale(ticks), [f"{100 * p:.6g} %" for p in ticks])
    axes.set_ylim(0, 5.4)
    axes.axhline(2, color="#999999", lw=1)
    axes.set_xlabel("RTT")
    axes.set_ylabel("calls that took no longer")
    axes.legend(loc="best", frameon=True, framealpha=0.9, handlelength=2.6, fontsize=9.5)


def medians(run: Run, axes: Axes) -> None:
    """Draw each case's median over its starts, the starts themselves, and their range; or against payload."""
    if _is_sweep(run):
        return _over_payload(run, axes, column(0.5), "median RTT", _time_axis, "Median RTT against payload")
    cases, colour = run.cases.dropna(subset=column(0.5)), colours(run)
    for y, (case, row) in enumerate(cases.iterrows()):
        if row["system"] != "loopback":
            each = run.starts.loc[run.starts["case"] == case, column(0.5)]
            _range_row(axes, y, each, colour[case], duration)
        else:
            text = f"◂ {duration(row[column(0.5)])}, off the axis"
            axes.text(0.02, y, text, transform=axes.get_yaxis_transform(), va="center")
    _rtt_axis(axes)
    _case_axis(axes, list(cases["label"]))
    axes.set_title("Median: each start, their range and middle")
    return None


def _range_row(axes: Axes, y: float, each: "pd.Series[float]", colour: Any, text: Callable[[float], str]) -> None:
    """Draw one value of each start as dots, their range as a bar, their median as a stroke and in words."""
    middle, low, high = stats.across_starts(each.to_list())
    axes.plot([low, high], [y, y], color=colour, lw=7, alpha=0.3, solid_capstyle="round")
    axes.plot(each, [y] * len(each), "o", ms=5, mec="white", mew=0.6, color=colour)
    axes.plot(middle, y, "|", ms=16, mew=2, color="black")
    axes.annotate(text(middle), (high, y), (12, 0), textcoords="offset points", va="center", fontsize=10.5)


def _rtt_axis(axes: Axes) -> None:
    """Make room for the words behind the rows, on a logarithmic time axis."""
    axes.set_xscale("log")
    low, high = axes.dataLim.intervalx
    axes.set_xlim(low / (high / low) ** 0.12, high * (high / low) ** 0.22 * 1.08)
    _time_axis(axes.xaxis)
    axes.set_xlabel("median RTT of a start")


def cpu_per_call(run: Run, axes: Axes) -> None:
    """Draw the CPU time that one call costs the client and the server; what is not known is said."""
    if _is_sweep(run):
        return _over_payload(run, axes, "cpu", "CPU per call", _time_axis, "CPU per call, client and server together")
    cases = run.cases.dropna(subset="client_cpu_us_per_call")
    left, widest = np.zeros(len(cases)), _total_cpu(cases).max()
    for role, colour in ROLE_COLOURS.items():
        values = cases[f"{role}_cpu_us_per_call"]
        if values.notna().any():
            axes.barh(range(len(cases)), values.fillna(0), left=left, color=colour, label=role, height=0.62)
            left = left + values.fillna(0).to_numpy()
    for y, (_, row) in enumerate(cases.iterrows()):
        text = duration(left[y]) + _unknown_cpu(row)
        axes.annotate(text, (left[y], y), (6, 0), textcoords="offset points", va="center", fontsize=10.5)
    axes.set_xlim(0, widest * 1.45)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    _case_axis(axes, list(cases["label"]))
    axes.yaxis.grid(False)
    axes.set_xlabel("CPU time of one call [µs]")
    axes.legend(loc="lower right", frameon=True, framealpha=0.9)
    axes.set_title("CPU per call")
    return None


def _total_cpu(cases: pd.DataFrame) -> "pd.Series[float]":
    return cases[[f"{role}_cpu_us_per_call" for role in ROLE_COLOURS]].sum(axis=1)


def _unknown_cpu(row: "pd.Series[Any]") -> str:
    if row["target"]:
        return " (server: not known)"
    return " (no server)" if row["system"] == "loopback" else ""


def _case_axis(axes: Axes, labels: list[str]) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)


def _is_sweep(run: Run) -> bool:
    """Return whether several payload sizes were measured with calls."""
    calls = run.cases[(run.cases["load"] == "closed") & (run.cases["system"] != "loopback")]
    return calls["payload_bytes"].nunique() > 1


def _over_payload(run: Run, axes: Axes, name: str, what: str, scale: Callable[[Any], None], title: str) -> None:
    cases = run.cases[(run.cases["load"] == "closed") & (run.cases["system"] != "loopback")].copy()
    if name == "cpu":
        cases["cpu"], cases["cpu_low"], cases["cpu_high"] = _total_cpu(cases), np.nan, np.nan
    _lines(run, axes, cases, "payload_bytes", name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    _payload_axis(axes, cases["payload_bytes"])
    scale(axes.yaxis)
    axes.set_ylabel(what)
    axes.legend(frameon=True, framealpha=0.9)
    axes.set_title(title)


def _lines(run: Run, axes: Axes, cases: pd.DataFrame, x: str, y: str) -> None:
    """Draw one line for each system and transport, with the range over starts as a band."""
    for (system, transport), rows in cases.groupby(["system", "transport"], sort=False):
        rows = rows.sort_values(x)
        colour = colours(run)[rows.index[0]]
        draw = {"color": colour, "ls": LINE_STYLES[transport], "marker": MARKERS[transport]}
        axes.plot(rows[x], rows[y], ms=6, lw=1.8, label=f"{system} {transport}", **draw)
        axes.fill_between(rows[x], rows[f"{y}_low"], rows[f"{y}_high"], color=colour, alpha=0.2, lw=0)


def _payload_axis(axes: Axes, sizes: "pd.Series[int]") -> None:
    ticks = sorted(sizes.unique())
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(quantity(value, "B"))))
    axes.set_xlabel("payload")


# --- panels: throughput -------------------------------------------------------------------------------


def _streams(run: Run) -> pd.DataFrame:
    return run.cases[run.cases["load"] == "stream"]


def stream_messages(run: Run, axes: Axes) -> None:
    """Draw one-way messages per second against payload: received, and as the sender saw it."""
    cases = _streams(run)
    _stream_lines(run, axes, "rate_per_s")
    for case, row in cases.iterrows():
        axes.plot(row["payload_bytes"], row["send_rate_per_s"], "x", ms=8, color=colours(run)[case])
    if len(cases):
        axes.plot([], [], "x", ms=8, color=GREY, label="sender's rate")
        axes.legend(frameon=True, framealpha=0.9)
    _log_axis(axes.yaxis, quantity)
    axes.set_ylabel("messages per second")
    axes.set_title("One way: messages per second received")


def stream_bits(run: Run, axes: Axes) -> None:
    """Draw one-way payload megabits per second against payload."""
    _stream_lines(run, axes, "rate_mbit_per_s")
    _log_axis(axes.yaxis, lambda value: f"{value:.6g}")
    axes.set_ylabel("payload received [Mb/s]")
    axes.set_title("One way: megabits per second received")


def _stream_lines(run: Run, axes: Axes, name: str) -> None:
    cases = _streams(run)
    if cases.empty:
        return _nothing(axes, "no one-way streams in this run")
    _lines(run, axes, cases, "payload_bytes", name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    _payload_axis(axes, cases["payload_bytes"])
    axes.legend(frameon=True, framealpha=0.9)
    return None


def _nothing(axes: Axes, why: str) -> None:
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes, color=GREY)


def _parallel(run: Run) -> pd.DataFrame:
    cases = run.cases[(run.cases["load"] == "closed") & (run.cases["system"] != "loopback")].copy()
    cases["where"] = cases["target"].fillna(cases["transport"])
    return cases


def calls_by_clients(run: Run, axes: Axes) -> None:
    """Draw calls per second against the number of parallel clients."""
    cases = _parallel(run)
    if cases.empty:
        return _nothing(axes, "no parallel clients in this run")
    _lines(run, axes, cases, "clients", "rate_per_s")
    _client_axis(axes, cases)
    axes.set_ylim(0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(quantity(value))))
    axes.set_ylabel("calls per second")
    axes.legend(frameon=True, framealpha=0.9)
    axes.set_title("Calls per second, parallel clients")
    return None


def _client_axis(axes: Axes, cases: pd.DataFrame) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(sorted(cases["clients"].unique())))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("parallel client processes")


def load_by_clients(run: Run, axes: Axes) -> None:
    """Draw the CPU load of clients and server against the number of parallel clients."""
    cases = _parallel(run)
    if cases.empty:
        return _nothing(axes, "no parallel clients in this run")
    for (_, transport), rows in cases.groupby(["system", "transport"], sort=False):
        for role in ("client", "server", "router"):
            if rows[f"{role}_cpu_percent"].notna().any():
                _load_line(axes, rows.sort_values("clients"), role, str(transport))
    _client_axis(axes, cases)
    axes.axhline(100, color="#888888", lw=1, ls=(0, (2, 2)))
    axes.set_ylim(0, max(108, axes.dataLim.intervaly[1] * 1.08))
    axes.set_ylabel("CPU load [% of one CPU]")
    axes.legend(frameon=True, framealpha=0.9, ncols=2)
    unknown = " (the target's own is not known)" if cases["target"].notna().any() else ""
    axes.set_title(f"CPU load by role{unknown}")
    return None


def _load_line(axes: Axes, rows: pd.DataFrame, role: str, transport: str) -> None:
    name = "all clients" if role == "client" else role
    draw: dict[str, Any] = {"color": ROLE_COLOURS[role], "ls": LINE_STYLES[transport], "marker": MARKERS[transport]}
    axes.plot(rows["clients"], rows[f"{role}_cpu_percent"], lw=1.8, ms=6, label=f"{name}, {transport}", **draw)


# --- panels: placement --------------------------------------------------------------------------------


def placements(run: Run, axes: Axes) -> None:
    """Draw each start's median under each placement."""
    _by_placement(run, axes, run.starts[column(0.5)], duration)
    _rtt_axis(axes)
    axes.set_title("Median RTT: each start, by placement")


def placement_distribution(run: Run, axes: Axes) -> None:
    """Draw the distribution of raw sockets' calls, and of the system's, under each placement; one transport."""
    transport = run.plan.cases[0].transport
    for case in _first_size(run):
        of = run.plan.cases[case]
        if of.transport == transport:
            line, marker = ("-", "o") if of.system == "sockets" else ("--", "s")
            _distribution_line(run, axes, case, PLACEMENT_COLOURS[of.placement], line, marker)
    _distribution_axes(axes)
    axes.set_title(f"Distribution over {transport}")


def placement_cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time of a call, client and server together, under each placement."""
    _by_placement(run, axes, _total_cpu(run.starts), duration)
    axes.set_xlim(0, axes.dataLim.intervalx[1] * 1.18)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("CPU time of one call, both sides [µs]")
    axes.set_title("What a call costs in CPU, by placement")


def placement_switches(run: Run, axes: Axes) -> None:
    """Draw how often the server went to sleep for each call."""
    _by_placement(run, axes, run.starts["server_voluntary_switches"] / run.starts["calls"], lambda v: f"{v:.2f}")
    axes.set_xlim(0, axes.dataLim.intervalx[1] * 1.18)
    axes.set_xlabel("times that the server went to sleep, for each call")
    axes.set_title("Sleeps and wake-ups of the server, by placement")


def _by_placement(run: Run, axes: Axes, values: "pd.Series[float]", text: Callable[[float], str]) -> None:
    """Draw a row for each case, grouped by system and transport, coloured by placement."""
    pairs = list(dict.fromkeys((case.system, case.transport) for case in run.plan.cases))
    for case in run.cases.index:
        of = run.plan.cases[case]
        y = 4 * pairs.index((of.system, of.transport)) + list(PLACEMENT_COLOURS).index(of.placement)
        _range_row(axes, y, values[run.starts["case"] == case], PLACEMENT_COLOURS[of.placement], text)
    for edge in range(1, len(pairs)):
        axes.axhline(4 * edge - 1, color="#bbbbbb", lw=0.8)
    for name, colour in PLACEMENT_COLOURS.items():
        axes.plot([], [], lw=7, color=colour, label=name)
    axes.yaxis.grid(False)
    axes.set_yticks([4 * place + 1 for place in range(len(pairs))], [" ".join(pair) for pair in pairs])
    axes.set_ylim(4 * len(pairs) - 1, -1)
    axes.legend(loc="best", frameon=True, framealpha=0.9, title=None)


# --- whole figures ------------------------------------------------------------------------------------

LAYOUTS: dict[str, tuple[Panel, ...]] = {
    "latency": (calls_in_order, distribution, medians, cpu_per_call),
    "throughput": (stream_messages, stream_bits, calls_by_clients, load_by_clients),
    "placement": (placements, placement_distribution, placement_cpu, placement_switches),
}

TITLES = {
    "latency": "How long is one round trip?",
    "throughput": "How many messages per second?",
    "placement": "Which CPU did it run on?",
}


def panel(run: Run, draw: Panel, size: tuple[float, float] = (10, 4.2)) -> Figure:
    """Return a figure that shows one panel."""
    with style():
        figure = Figure(figsize=size, layout="constrained")
        draw(run, figure.subplots())
    return figure


def whole(run: Run) -> Figure:
    """Return the notebook's figure: four panels, title and caption."""
    with style():
        figure = Figure(figsize=(14, 10.4), layout="constrained")
        for axes, draw in zip(figure.subplots(2, 2).flat, LAYOUTS[run.plan.notebook], strict=True):
            draw(run, axes)
        figure.suptitle(TITLES[run.plan.notebook], fontsize=17, fontweight="bold", x=0.01, ha="left")
        figure.supxlabel(caption(run), fontsize=9.5, x=0.01, ha="left", color="#444444")
    return figure


def caption(run: Run) -> str:
    """Return what the reader must know to judge the figure: n, starts, window, placement, machine, run."""
    cases, machine = run.cases, run.manifest["machine"]
    n = run.samples["warm"].sum()
    sizes = listed(f"{size:,} B" for size in sorted(cases["payload_bytes"].unique()))
    places = listed(cases["placement"].unique())
    target = " Server not started here: its CPU is not known." if cases["target"].notna().any() else ""
    return (
        f"{int(cases['starts'].min())} starts of each case, windows of {run.plan.window_s:g} s; n = {n:,} calls after "
        f"the warm-up; payload {sizes}; placement {places}.{target}\n"
        f"Machine {machine['machine_id']}: {machine['cpu_model']}, {machine['cpus_allowed']} CPUs, "
        f"{'virtual, ' if machine['virtual'] else ''}{machine['system']} {machine['kernel']}. Run {run.id}."
    )


def provenance(run: Run) -> dict[str, str]:
    """Return what is written into a figure's metadata: which run, which data, which revision drew it from."""
    git = run.manifest["git"]
    dirty = " (with changes)" if git["dirty"] else ""
    text = f"run={run.id} data={run.folder.data_hash()} revision={git['revision']}{dirty} notebook={run.plan.notebook}"
    return {"Title": TITLES[run.plan.notebook], "Description": text}


def save(run: Run, figure: Figure | None = None) -> list[Path]:
    """Write the notebook's figure as SVG and PNG into ``figures/``; the same run gives the same bytes."""
    figure = whole(run) if figure is None else figure
    folder = paths.figures()
    folder.mkdir(parents=True, exist_ok=True)
    targets = [folder / f"{run.plan.notebook}.{kind}" for kind in ("svg", "png")]
    with style():
        for target in targets:
            _write(figure, target, provenance(run))
    return targets


def _write(figure: Figure, target: Path, metadata: dict[str, str]) -> None:
    kind = target.suffix[1:]
    extra: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=metadata | extra)
    temporary = target.with_name(f".{target.name}.part")
    temporary.write_bytes(buffer.getvalue())
    temporary.replace(target)
