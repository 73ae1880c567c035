"""What the figure of routed calls says: which factor makes the difference, and what the router's share is."""

import pandas as pd

from bench.analysis.resources import total_cpu
from bench.experiments.published import wamp_replicas
from bench.experiments.wamp import findings
from bench.experiments.wamp.findings import Effect
from bench.experiments.words import P50
from bench.run.frames import Run, number_of, numbered
from bench.text import duration, listed

ORIGINS_FACTOR = 3.0  # 1.2 ms over 0.4 ms


def conclusion(run: Run) -> str:
    """Say how far apart the origin's two combinations are, which factor makes that, and what the router costs."""
    return "\n\n".join(part for part in (factors(run), router(run)) if part)


def factors(run: Run) -> str:
    """Say how far apart the origin's two combinations are, and which factor makes that."""
    return "\n\n".join(part for part in (_two(run), _factors(run)) if part)


def _two(run: Run) -> str:
    found = wamp_replicas(run)
    if len(found) < 2:
        return ""
    fast, slow = (run.cases.loc[case, P50] for case in found.values())
    names = [name.replace(" ", " + ") for name in found]
    return (
        f"A round trip by **{names[0]}** takes {duration(fast)}, by **{names[1]}** {duration(slow)}: "
        f"{slow / fast:.1f} times as long (the origin: about {ORIGINS_FACTOR:g} times). Three factors changed at once."
    )


def _factors(run: Run) -> str:
    """Say what each factor adds, and which of them the origin's difference is made of."""
    found = findings.effects(run)
    if not found:
        return "One factor at a time was not measured here: give at least two levels of it, and all blocks."
    known = [one for one in found if one.low > 0 or one.high < 0]
    lines = [f"- {_effect(one)}" for one in sorted(found, key=lambda one: -abs(one.middle))]
    origin = [one for one in found if one.level in ("tcp", "websocket", "json")]
    largest = max(origin, key=lambda one: one.middle) if origin else None
    more = ""
    if largest is not None and largest in known:
        share = largest.middle / sum(max(0.0, one.middle) for one in origin)
        more = f"\n\nMost of the difference is **{largest.factor}**: {share:.0%} of what the factors add together."
        quiet = [one.factor for one in origin if one not in known]
        more += f" What {listed(quiet)} adds cannot be told from nothing here." if quiet else ""
    return "One factor at a time, averaged over all levels of the others:\n" + "\n".join(lines) + more


def _effect(one: Effect) -> str:
    certain = "" if one.low > 0 or one.high < 0 else "; the blocks do not agree on its sign"
    sign = "+" if one.middle > 0 else "−"
    return (
        f"{one.name}: {sign}{duration(abs(one.middle))} ({one.low:+.0f} to {one.high:+.0f} µs over the blocks, "
        f"× {one.ratio:.2f}){certain}"
    )


def router(run: Run) -> str:
    """Say which part of a routed call is the router's, and what the same echo costs without one."""
    routed = run.cases.dropna(subset="router_cpu_us_per_call")
    direct = run.cases[(run.cases["system"] != "wamp_crossbar") & run.cases[P50].notna()]
    if routed.empty:
        return ""
    best = routed.loc[routed[P50].idxmin()]
    every = float(total_cpu(routed).loc[number_of(best.name)])
    controller = best["controller_cpu_us_per_call"]
    text = (
        f"Of {duration(every)} of CPU for a call by the quickest combination, the router uses "
        f"{duration(best['router_cpu_us_per_call'])} ({best['router_cpu_us_per_call'] / every:.0%}), its controller "
        f"{duration(controller) if controller else 'none'}. Each message passes two connections instead of one, and is "
        f"read and written once more."
    )
    return " ".join(
        [text, *(_without(row, best) for _, row in numbered(direct[direct["transport"] == best["transport"]]))]
    )


def _without(row: "pd.Series[float]", best: "pd.Series[float]") -> str:
    return f"{row['label']} echoes in {duration(row[P50])}: {best[P50] / row[P50]:.0f} times sooner."
