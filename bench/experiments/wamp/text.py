"""Sentences of wamp.ipynb: the effect of each factor, and the router's share of the CPU time."""

from bench.analysis.resources import cpu_over_starts
from bench.experiments.published import wamp_replicas
from bench.experiments.sentences import P50
from bench.experiments.wamp import findings
from bench.experiments.wamp.findings import Effect
from bench.grammar.contrast import Ratio
from bench.run.frames import Run
from bench.text import duration, listed, paragraphs, quantity

ORIGINS_FACTOR = 3.0  # 1.2 ms over 0.4 ms


def answer(run: Run) -> str:
    """Return the ratio to the same echo without a router, and the factor with the largest effect."""
    without = " ".join(_without(run, ratio) for ratio in findings.without_router(run))
    return paragraphs(without, _largest(run)) or _factors(run)


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
    lines = [f"- {_effect(effect)}" for effect in sorted(effects, key=lambda effect: -abs(effect.middle))]
    head = (
        "Effect of each factor on the median RTT, averaged over all levels of the others (Hodges-Lehmann estimate over "
        "blocks):\n"
    )
    return paragraphs(head + "\n".join(lines), _largest(run))


def _largest(run: Run) -> str:
    """Return which factor of the origin has the largest effect, or "" where none is distinguishable from zero."""
    effects = findings.effects(run)
    origin = [effect for effect in effects if effect.level in ("tcp", "websocket", "json")]
    largest = max(origin, key=lambda effect: effect.middle) if origin else None
    if largest is None or not largest.is_certain:
        return ""
    equal = [effect for effect in origin if effect is not largest and not findings.is_larger(largest, effect)]
    part = _part(largest, origin)
    text = _near(part, equal) if equal else f"The largest effect is that of {part}."
    quiet = [effect.factor for effect in origin if not effect.is_certain]
    return text + (f" The effect of {listed(quiet)} is not distinguishable from zero in this run." if quiet else "")


def _part(effect: Effect, every: list[Effect]) -> str:
    """Return a factor with the share of its effect on the median RTT in the sum of those of several factors."""
    share = max(0.0, effect.middle) / sum(max(0.0, one.middle) for one in every)
    effects = listed(f"{one.factor} ({one.level})" for one in every)
    return f"**{effect.factor}**, {share:.0%} of the sum of the effects of {effects}"


def _near(largest: str, others: list[Effect]) -> str:
    """Return the largest effect, and those that it is not distinguishable from."""
    names = listed(f"**{effect.factor}**" for effect in others)
    return f"The largest median effect is that of {largest}, but it is not distinguishable from that of {names}."


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
    every = cpu_over_starts(run, case)
    own, controller = (run.over_starts(case, f"{role}_cpu_us_per_call") for role in ("router", "controller"))
    used, routed, watched = (spread.words(duration) if spread.middle else "none" for spread in (every, own, controller))
    text = (
        f"The fastest combination ({run.labels[case]}) uses {used} CPU time per call: the router uses {routed} "
        f"({own.middle / every.middle:.0%}), its controller {watched}. Each message passes two connections instead of "
        "one, and the router reads and writes it once more."
    )
    return " ".join([text, *(_without(run, ratio) for ratio in findings.without_router(run))])


def _without(run: Run, ratio: Ratio) -> str:
    median = run.over_starts(ratio.base, P50).words(duration)
    return (
        f"A call through the router ({run.labels[ratio.other]}) takes {ratio} as long as one of "
        f"{run.labels[ratio.base]}, whose median RTT is {median}."
    )
