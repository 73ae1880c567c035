"""What to expect in class, as ratios: computed from the reference runs, so that it does not go stale."""

from bench import paths
from bench.apps.teaching import questions
from bench.errors import DataError
from bench.experiments.mystery.findings import alone, crowded
from bench.run import stored
from bench.run.frames import Run

BEGIN, END = "<!-- expected: begin (make expected writes this) -->", "<!-- expected: end -->"


def reference(notebook: str) -> Run:
    """Return a notebook's reference run."""
    return Run(stored.find(f"reference/{notebook}"))


def table() -> str:
    """Return a Markdown table: what is asked, and what the reference run answers, with the range of its starts."""
    rows = ["| notebook | asked | reference run | its starts |", "|---|---|---|---|"]
    runs = {one.notebook: reference(one.notebook) for one in questions.ALL}
    for one in questions.ALL:
        found = questions.measured(runs[one.notebook], one)
        if found is None:
            raise DataError(f"the reference run of {one.notebook} does not answer {one.name}: measure it anew")
        value, low, high = found
        rows.append(f"| {one.notebook} | {one.text} | {value:.3g} {one.unit} | {low:.3g} to {high:.3g} |")
    return "\n".join([*rows, *_mystery()])


def _mystery() -> list[str]:
    """Return what the boxes show of several callers, the most and the least: not which boxes these are."""
    run = reference("mystery")
    one, many = alone(run), crowded(run)
    times = (many["rate_per_s"] / one["rate_per_s"]).drop("sound")
    callers = int(many["callers"].iloc[0])
    asked = f"How many times one caller's calls do {callers} callers make, in the box where they bring least?"
    rest = times.drop(times.idxmin())
    return [f"| mystery | {asked} | {times.min():.3g} times | the other boxes: {rest.min():.3g} to {rest.max():.3g} |"]


def written(text: str) -> str:
    """Return the text of docs/teaching.md with the table made anew; DataError if it has no place for it."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise DataError(f"{paths.shown(paths.home() / 'docs' / 'teaching.md')} lost the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"
