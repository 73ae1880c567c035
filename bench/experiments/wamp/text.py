"""Sentences of wamp.ipynb: the effect of each factor, and the router's share of the CPU time."""

from bench.analysis.resources import cpu_over_starts, total_cpu
from bench.experiments.case_ratios import Ratio
from bench.experiments.published import wamp_replicas
from bench.experiments.sentences import P50
from bench.experiments.wamp import findings
from bench.experiments.wamp.findings import Effect
from bench.run.frames import Run
from bench.text import duration, listed, paragraphs, quantity

ORIGINS_FACTOR = 3.0  # 1.2 ms over 0.4 ms


def conclusion(run: Run) -> str:
    """Return the ratio of the origin's two combinations, the effect of each factor, and the router's share."""
    return paragraphs(factors(run), router(run))


def factors(run: Run) -> str:
    """Return the ratio of the origin's two combinations, and the effect of each factor."""
    return paragraphs(_origin_pair(run), _factors(run))


def _origin_pair(run: Run) -> str:
    cases = wamp_replicas(run)
    if len(cases) < 2:
        return ""
    fast, slow = (run.over_starts(case, P50).words(duration) for case in cases.values())
    names = [name.replace(" ", " + ") for name in cases]
    return (
        f"The median RTT of **{names[0]}** is {fast}, of **{names[1]}** {slow}: "
        f"{findings.combined(run)}. In the origin: about {ORIGINS_FACTOR:g} times (ratio of two averages). Three "
        "factors changed at once."
    )


def _factors(run: Run) -> str:
    """Return what each factor adds, and which of them explains most of the origin's difference."""
    effects = findings.effects(run)
    if not effects:
        return "No factor has two levels in this run (or a block is incomplete), so no effect is estimated."
    certain = [effect for effect in effects if effect.is_certain]
    lines = [f"- {_effect(effect)}" for effect in sorted(effects, key=lambda effect: -abs(effect.middle))]
    origin = [effect for effect in effects if effect.level in ("tcp", "websocket", "json")]
    largest = max(origin, key=lambda effect: effect.middle) if origin else None
    more = ""
    if largest is not None and largest in certain:
        equal = [effect for effect in origin if effect is not largest and not findings.is_larger(largest, effect)]
        sum_us = sum(max(0.0, effect.middle) for effect in origin)
        more = "\n\n" + (_near(largest, equal, sum_us) if equal else f"The largest effect is {_part(largest, sum_us)}.")
        quiet = [effect.factor for effect in origin if effect not in certain]
        more += f" The effect of {listed(quiet)} is not distinguishable from zero in this run." if quiet else ""
    return (
        "Effect of each factor on the median RTT, averaged over all levels of the others (Hodges-Lehmann estimate over "
        "blocks):\n" + "\n".join(lines) + more
    )


def _part(effect: Effect, sum_us: float) -> str:
    return f"**{effect.factor}**, {max(0.0, effect.middle) / sum_us:.0%} of the sum of the three effects"


def _near(largest: Effect, others: list[Effect], sum_us: float) -> str:
    """Return the largest effect, and those that it is not distinguishable from."""
    names = listed(f"**{effect.factor}**" for effect in others)
    return f"The largest median effect is {_part(largest, sum_us)}, but it is not distinguishable from that of {names}."


def _effect(effect: Effect) -> str:
    certain = "" if effect.is_certain else ", not distinguishable from zero"
    sign = "+" if effect.middle > 0 else "−"
    us = f"{sign}{duration(abs(effect.middle))}"
    return f"{effect.name}: {us} ({_ends(effect)}, ratio {quantity(effect.ratio)}){certain}"


def _ends(effect: Effect) -> str:
    """Return the interval that decides whether an effect is distinguishable from zero; of few blocks their range."""
    found, words = (effect.interval, "95 % CI") if effect.interval.has_ends else (effect, "range over blocks")
    return f"{words} {found.low:+.0f} to {found.high:+.0f} µs"


def router(run: Run) -> str:
    """Return the router's share of the CPU time per call, and the ratio to the same echo without a router."""
    case = findings.quickest(run)
    if case is None:
        return ""
    best, every = run.cases.loc[case], float(total_cpu(run.cases).loc[case])
    used, own, controller = (
        spread.words(duration) if spread.middle else "none"
        for spread in (
            cpu_over_starts(run, case),
            run.over_starts(case, "router_cpu_us_per_call"),
            run.over_starts(case, "controller_cpu_us_per_call"),
        )
    )
    text = (
        f"The fastest combination ({best['label']}) uses {used} CPU time per call: the router uses {own} "
        f"({best['router_cpu_us_per_call'] / every:.0%}), its controller {controller}. Each message passes two "
        "connections instead of one, and the router reads and writes it once more."
    )
    return " ".join([text, *(_without(run, ratio) for ratio in findings.without_router(run))])


def _without(run: Run, ratio: Ratio) -> str:
    median = run.over_starts(ratio.base, P50).words(duration)
    return f"The median RTT of {run.labels[ratio.base]} is {median}. The routed call takes {ratio} as long."
