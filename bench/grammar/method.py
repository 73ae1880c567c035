"""How a run was measured, in words: its blocks, slices, windows and routers, and what was not measured."""

from bench.analysis.turns import interference, most_awake, most_disturbed
from bench.plan import slicing
from bench.run.frames import Run
from bench.text import counted, few, paragraphs, ratio_ends


def measured(run: Run) -> str:
    """Return how the cases of a run were repeated: in blocks of slices, or in starts; and what taking turns did."""
    if (run.cases["load"] == "session").all():
        return "Each start of a case had a fresh server, and its client processes ran one after another."
    if not len(run.stored_slices):
        text = f"Each start of a case had fresh processes, and a window of its own ({windows(run)})."
        return f"{text} {_routers(run)}".strip()
    blocks, groups = run.plan.starts, run.ledger["turns_with"].value_counts()
    which = "all cases" if groups.max() == len(run.plan.cases) else f"up to {groups.max()} cases at once"
    text = (
        f"In each of {counted(blocks, 'block')} the processes of {which} started anew and took turns: "
        f"{run.plan.slices} of each case are counted, after {slicing.WARM_UPS} of warm-up. "
        "A ratio compares neighbouring slices."
    )
    if alone := [run.labels[case] for case in run.plan.apart if run.case(case).system != "loopback"]:
        text += f" Measured in starts of their own, because they take no turns: {few(alone)}."
    return " ".join(filter(None, [text, turns(run), _routers(run)]))


def _routers(run: Run) -> str:
    """Return that routers outlive starts; "" without any, or if each start had a fresh one."""
    routed = run.ledger.loc[run.ledger["router_cpu_ns"].notna(), "case"].unique()
    kept = any(not run.case(case).fresh_router for case in routed)
    return "Each router was started once, for the whole run." if kept else ""


def windows(run: Run) -> str:
    """Return what each start measured that took no turns: reply streams that have begun are received whole."""
    lengths_s = " to ".join(dict.fromkeys(f"{end:.2g}" for end in run.ledger["window_s"].quantile([0, 1])))
    if "capacity" in run.manifest:  # a search chooses the length at each rate
        return f"windows of {lengths_s} s"
    if not (run.cases["load"] == "reply_stream").all():
        return run.plan.windows
    return f"requests for {run.plan.window_s:g} s, each start until the last stream had ended, {lengths_s} s"


def turns(run: Run) -> str:
    """Return what taking turns did to the cases: interference, and CPU time of those that slept; or that none did."""
    if not len(run.stored_slices):
        return "Every start had a window of its own."
    asleep = f"While they slept, the processes of a case used at most {most_awake(run)}."
    if (worst := most_disturbed(run)) is None:
        return asleep
    ratios = interference(run)
    level, low, high = ratio_ends(*(getattr(ratios[worst], end) for end in ("middle", "low", "high")))
    return (
        f"Interference: the median RTT of {run.labels[worst]} in its slices, divided by its median RTT while the "
        f"others sleep for longer, is {level} (95 % CI {low} to {high}). No such ratio is farther from 1. {asleep}"
    )


def absent(run: Run) -> str:
    """Return as paragraphs what was not measured, and what installs it, in one line for all if there are several."""
    sentences = [f"**{name}** was not measured: {reason}." for name, reason in run.plan.absent.items()]
    line = to_install(run)
    return paragraphs(*sentences, f"All of them: `{line}`." if line and len(sentences) > 1 else "")


def to_install(run: Run) -> str:
    """Return one line that installs what the systems lack that were not measured, as far as commands are known."""
    packages: dict[str, list[str]] = {}
    for reason in run.plan.absent.values():
        for command in ("python -m pip install", "apt-get install"):
            _, asked, words = reason.partition(f"{command} ")
            packages.setdefault(command, []).extend(words.split() if asked else [])
    return " && ".join(f"{command} {' '.join(sorted(set(words)))}" for command, words in packages.items() if words)


LACKING = (ArithmeticError, LookupError, StopIteration, TypeError, ValueError)  # what a run that lacks something raises


def lacks(run: Run) -> str:
    """Return what a run lacks that its figure may need: replies, or starts; "" if it has both."""
    answered = run.ledger.groupby("case")["calls"].sum()
    if silent := [run.labels[case] for case in answered.index[answered == 0]]:
        return f"no request of {few(silent)} was answered as expected"
    starts, planned = len(run.ledger), run.plan.all_starts
    if starts < planned:
        return f"{starts} of {planned} planned starts are complete"
    return "a case has one start only" if run.cases["starts"].min() == 1 else ""
