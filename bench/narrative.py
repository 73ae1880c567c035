"""Sentences computed from a run: what its figure says, and what it does not carry."""

import pandas as pd

from bench import checks, placement, stats
from bench.figures.axes import duration, quantity
from bench.params import listed
from bench.results import Run, column

P50 = column(0.5)


def conclusion(run: Run) -> str:
    """Return the notebook's conclusion as Markdown; none from an invalid or too small run."""
    invalid = [one for one in checks.check(run) if one.verdict == checks.INVALID]
    if invalid:
        return f"**No conclusion.** {invalid[0].found}: {invalid[0].advice}."
    if run.cases["starts"].min() < stats.LEAST_STARTS:
        fewest = run.cases["starts"].min()
        return f"**No conclusion** from {fewest} starts; {stats.LEAST_STARTS} are needed (profile `class`)."
    tell = {"latency": latency, "throughput": throughput, "placement": by_placement}
    return tell[run.plan.notebook](run)


def latency(run: Run) -> str:
    """Say how long a round trip is, against raw sockets and against the instrument."""
    cases = run.cases.dropna(subset=P50)
    floors = cases[cases["system"] == "sockets"].set_index(["transport", "payload_bytes"])
    sentences = []
    for _, row in cases[~cases["system"].isin(["sockets", "loopback"])].iterrows():
        text = f"A round trip of **{row['label']}** takes {_range(row, P50)}"
        key = (row["transport"], row["payload_bytes"])
        if key in floors.index:
            floor = floors.loc[key, P50]
            text += f", {row[P50] / floor:.1f} times as long as raw sockets there ({duration(floor)})"
        sentences.append(text + ".")
    return " ".join([*sentences, _instrument(cases), _tail(run)])


def _range(row: "pd.Series[float]", name: str) -> str:
    low, high = duration(row[f"{name}_low"]), duration(row[f"{name}_high"])
    return f"{duration(row[name])} (starts from {low} to {high})"


def _instrument(cases: pd.DataFrame) -> str:
    own, rest = cases[cases["system"] == "loopback"], cases[cases["system"] != "loopback"]
    if own.empty or rest.empty:
        return ""
    floor = own[P50].iloc[0]
    return f"Of this, the instrument itself makes {duration(floor)}, {floor / rest[P50].min():.1%} of the shortest."


def _tail(run: Run) -> str:
    """Say how much longer the slowest call in a thousand takes."""
    needed = stats.needed_samples(0.999)
    ratios = {
        run.labels[case]: stats.quantile(rtt, 0.999) / stats.quantile(rtt, 0.5)
        for case in run.cases.index
        if len(rtt := run.rtt_us(case)) >= needed and run.plan.cases[case].system != "loopback"
    }
    if not ratios:
        return ""
    worst = max(ratios, key=lambda label: ratios[label])
    return f"One call in a thousand takes at least {ratios[worst]:.1f} times its median over {worst}."


def cpu(run: Run) -> str:
    """Say what a call costs in CPU time, and how much of the round trip is not spent computing."""
    cases = run.cases.dropna(subset=[P50, "server_cpu_us_per_call"])
    sentences = []
    for _, row in cases[cases["load"] == "closed"].iterrows():
        both = row["client_cpu_us_per_call"] + row["server_cpu_us_per_call"]
        share = both / row["mean_rtt_us"]
        sentences.append(
            f"{row['label']}: {duration(both)} of CPU for {duration(row['mean_rtt_us'])} of waiting ({share:.0%})"
        )
    text = f"CPU of both sides against the mean RTT: {'; '.join(sentences)}." if sentences else ""
    if run.cases["target"].any():
        text += " The target's own CPU time cannot be seen from here: it is absent, not zero."
    return text


def throughput(run: Run) -> str:
    """Say how much gets through, and what the limit was."""
    parts = [
        _streams(run),
        *(_limit(run, rows) for _, rows in _parallel(run).groupby("transport", sort=False)),
    ]
    return "\n\n".join(part for part in parts if part)


def _streams(run: Run) -> str:
    cases = run.cases[run.cases["load"] == "stream"]
    if cases.empty:
        return ""
    most, widest = cases.loc[cases["rate_per_s"].idxmax()], cases.loc[cases["rate_mbit_per_s"].idxmax()]
    return (
        f"One way, the most messages arrive over {most['transport']} at {most['payload_bytes']:,} B: "
        f"{quantity(most['rate_per_s'])} a second; the most bits over {widest['transport']} at "
        f"{widest['payload_bytes']:,} B: {widest['rate_mbit_per_s']:,.0f} Mb/s."
    )


def _parallel(run: Run) -> pd.DataFrame:
    return run.cases[(run.cases["load"] == "closed") & (run.cases["system"] != "loopback")]


def _limit(run: Run, rows: pd.DataFrame) -> str:
    """Say how calls per second grew with the clients, and which CPU was the limit at the best point."""
    one, best = rows.loc[rows["clients"].idxmin()], rows.loc[rows["rate_per_s"].idxmax()]
    grown = (
        f"Over **{one['target'] or one['transport']}**, {_clients(one)} {'makes' if one['clients'] == 1 else 'make'} "
        f"{quantity(one['rate_per_s'])} calls a second"
    )
    if best["clients"] > one["clients"]:
        factor = best["rate_per_s"] / one["rate_per_s"]
        grown += (
            f", and the most, {quantity(best['rate_per_s'])}, come with {_clients(best)}: {factor:.1f} times as many"
        )
    return f"{grown}. {_why(best)}"


def _clients(row: "pd.Series[float]") -> str:
    return f"{row['clients']:.0f} client{'s' if row['clients'] > 1 else ''}"


def _why(row: "pd.Series[float]") -> str:
    """Return what kept a case from going faster, by the CPU load of the roles on the CPUs they had."""
    client, server = row["client_cpu_share"], row["server_cpu_share"]
    loads = f"clients {client:.0%} of the CPUs they could use"
    if server != server:
        return f"The CPU load there: {loads}; the server's is not known, so neither is the limit."
    loads += f", server {server:.0%}"
    if busy := _full(row):
        return f"There the limit is {listed(busy)} ({loads}): more clients cannot help, cheaper calls can."
    return f"There no CPU is full ({loads}): calls wait for each other and for wake-ups, not for computing."


def _full(row: "pd.Series[float]") -> list[str]:
    """Return the CPUs that had no time left; clients and server may have shared them."""
    if row["placement"] == "split":
        loads = {"the clients' CPUs": row["client_cpu_share"], "the server's CPU": row["server_cpu_share"]}
    else:
        one_thread = row["server_cpu_percent"] / 100
        loads = {"the CPUs that clients and server share": row["shared_cpu_share"], "the server's thread": one_thread}
    return [name for name, load in loads.items() if load > 0.9]


def by_placement(run: Run) -> str:
    """Say how much the placement changes a round trip, and which placement repeats best."""
    cases = run.cases.dropna(subset=P50)
    sentences = []
    for (system, transport), rows in cases.groupby(["system", "transport"], sort=False):
        fast, slow = rows.loc[rows[P50].idxmin()], rows.loc[rows[P50].idxmax()]
        sentences.append(
            f"**{system} over {transport}**: {duration(fast[P50])} with placement {fast['placement']}, "
            f"{duration(slow[P50])} with {slow['placement']}, a factor of {slow[P50] / fast[P50]:.1f}."
        )
    spread = (cases[f"{P50}_high"] / cases[f"{P50}_low"]).groupby(cases["placement"]).median()
    ranks = "; ".join(f"{name} {spread[name]:.2f}" for name in spread.sort_values().index)
    sentences.append(
        f"How well a start repeats (slowest start median over fastest, middle of the pairs): {ranks}. "
        f"The defaults here: {placement.default()} for one caller, {placement.default(True)} for parallel work."
    )
    return " ".join(sentences)
