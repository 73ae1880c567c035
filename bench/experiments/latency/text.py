"""What the figure of single round trips says."""

import pandas as pd

from bench import stats
from bench.experiments.words import P50, with_range
from bench.run.frames import ROLES, Run, numbered
from bench.text import duration


def conclusion(run: Run) -> str:
    """Say how long a round trip is, against raw sockets and against the instrument."""
    cases = run.cases.dropna(subset=P50)
    floors = cases[cases["system"] == "sockets"].set_index(["transport", "payload_bytes"])
    sentences = []
    for _, row in numbered(cases[~cases["system"].isin(["sockets", "loopback"])]):
        text = f"A round trip of **{row['label']}** takes {with_range(row, P50)}"
        key = (row["transport"], row["payload_bytes"])
        if key in floors.index:
            floor = floors.loc[key, P50]
            text += f", {row[P50] / floor:.1f} times as long as raw sockets there ({duration(floor)})"
        sentences.append(text + ".")
    return " ".join([*sentences, _instrument(cases), _tail(run)])


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
        if len(rtt := run.rtt_us(case)) >= needed and run.case(case).system != "loopback"
    }
    if not ratios:
        return ""
    worst = max(ratios, key=lambda label: ratios[label])
    return f"One call in a thousand takes at least {ratios[worst]:.1f} times its median over {worst}."


def cpu(run: Run) -> str:
    """Say what a call costs in CPU time, and how much of the round trip is not spent computing."""
    cases = run.cases.dropna(subset=[P50, "server_cpu_us_per_call"])
    sentences = []
    for _, row in numbered(cases[cases["load"] == "closed"]):
        every = row[[f"{role}_cpu_us_per_call" for role in ROLES]].sum()
        share = every / row["mean_rtt_us"]
        sentences.append(
            f"{row['label']}: {duration(every)} of CPU for {duration(row['mean_rtt_us'])} of waiting ({share:.0%})"
        )
    text = f"CPU of all sides against the mean RTT: {'; '.join(sentences)}." if sentences else ""
    if run.cases["target"].any():
        text += " The target's own CPU time cannot be seen from here: it is absent, not zero."
    return text
