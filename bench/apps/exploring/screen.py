"""The page: inputs, Run and Stop, results that grow more exact, their trust cards, and a command to copy."""

import contextlib
import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import ipywidgets as widgets
from IPython import get_ipython
from IPython.display import display

from bench.analysis import checks
from bench.apps import notebook
from bench.apps.exploring import axis, command, inputs, showing
from bench.apps.exploring.axis import BASE, Axis, Shown
from bench.apps.exploring.choice import Choice
from bench.apps.exploring.measuring import Measurement
from bench.apps.exploring.result_set import Result, collect
from bench.apps.exploring.showing import Entry
from bench.errors import BenchError, UsageError
from bench.grammar import figure as panels
from bench.grammar.experiment import experiment
from bench.measurement.validation.profiles import takes_turns
from bench.plan import paths
from bench.plan.labels import labels
from bench.plan.plan import Plan
from bench.plan.slicing import MOST
from bench.run import stored
from bench.run.frames import Run

IN_STARTS = {"starts": 12, "window_s": 0.5}  # of what takes no turns: its first result is wanted soon, more follow
WIDTHS = [  # of intervals: a measurement ends when its ratios are so precise (parameter until_width)
    ("all blocks", ""),
    ("within ±5 %", "5%"),
    ("within ±2 %", "2%"),
    ("within ±1 %", "1%"),
]


class Page:
    """The page in a notebook or a browser that a person has open.

    What is chosen is measured together with the results that are kept on the page, in turns, so that each can be
    divided by the first. What cannot take turns is measured alone.
    """

    _latest: "Page | None" = None

    def __init__(self, source: object, amount: dict[str, Any]) -> None:
        if Page._latest:
            Page._latest.stop()  # a cell that is run again makes the page anew
        Page._latest = self
        self._amount = amount
        self._entries: list[Entry] = []
        self._is_example = False  # whether the results are the stored ones of the project: the first Run replaces them
        self._kept: list[Entry] = []  # beside what is being measured
        self._axis: Axis | None = None
        self._measurement: Measurement | None = None
        self._lock = threading.RLock()
        self._make_widgets()
        self._begin_with(source)
        self._refresh()
        _on_interrupt(self.stop)
        display(self._box)

    def _begin_with(self, source: object) -> None:
        """Show a stored run: the example where the page is to measure, if it is there."""
        if source != "measure":
            self._entries = _entries(notebook.measure("explore", source=source))
            return
        with contextlib.suppress(BenchError):
            self._entries, self._is_example = _entries(Run(stored.find("reference/explore"))), True

    def _make_widgets(self) -> None:
        """Make everything that the page consists of."""
        self._choice = Choice(self._on_choice)
        self._until = inputs.dropdown("until", WIDTHS)
        self._run = self._button("Run", self._on_run, "primary")
        self._stop = self._button("Stop", lambda _: self.stop(), "warning")
        self._save = self._button("Save figure", self._on_save)
        self._forget = self._button("Forget all", lambda _: self.forget())
        self._bar = widgets.FloatProgress(0, min=0, max=1, layout=widgets.Layout(width=inputs.WIDTH, height="16px"))
        self._status, self._error = (widgets.HTML(layout=widgets.Layout(width=inputs.WIDTH)) for _ in range(2))
        self._commands = widgets.HTML()
        self._heading, self._below = widgets.HTML(), widgets.HTML(layout=_rest())
        self._rows = widgets.VBox(layout=widgets.Layout(width="100%"))
        self._picture = widgets.Image(
            format="png", layout=widgets.Layout(width="100%", max_width="760px", object_fit="contain")
        )
        self._cards, self._trust = widgets.Accordion(), widgets.VBox()
        self._numbers = widgets.HTML(layout=widgets.Layout(width="100%"))
        self._saved = widgets.VBox([widgets.HTML(showing.status("Press <b>Save figure</b> on the page."))])
        buttons = widgets.HBox([self._run, self._stop])
        left = [self._choice.box, self._until, buttons, self._bar, self._status, self._error]
        column = widgets.VBox(left, layout=widgets.Layout(width="330px", flex="0 0 330px"))
        wide = widgets.Layout(flex="1 1 0", min_width="0", max_width="900px")
        room = widgets.Layout(width="30px", visibility="hidden")  # as wide as a button, so that the axis fits the rows
        below_rows = widgets.HBox([self._below, widgets.Button(layout=room)], layout=widgets.Layout(width="100%"))
        right = widgets.VBox([self._heading, self._rows, below_rows, self._picture], layout=wide)
        below = [widgets.HBox([self._save, self._forget]), self._commands]
        self._box = widgets.VBox([widgets.HTML(showing.STYLE), widgets.HBox([column, right]), *below])
        self._box.add_class("rt-page")

    @staticmethod
    def _button(text: str, on_click: Callable[[Any], None], style: str = "") -> widgets.Button:
        made = widgets.Button(description=text, button_style=style)
        made.on_click(on_click)
        return made

    def trust(self) -> None:
        """Show the trust cards of all results; they come and go with them."""
        display(self._trust)

    def numbers(self) -> None:
        """Show the conclusions from the results, and their tables."""
        display(self._numbers)

    def saved(self) -> None:
        """Show the figure that was saved last."""
        display(self._saved)

    def stop(self) -> None:
        """Stop a running measurement; what was measured is kept."""
        if measurement := self._measurement:
            self._say("Stopping")
            measurement.stop()

    def forget(self, entry: Entry | None = None) -> None:
        """Take a result off the page, or all; their runs stay on disk. Not while results are being measured."""
        if self._measurement:
            return
        with self._lock:
            self._entries = [kept for kept in self._entries if entry and kept is not entry]
        self._refresh()

    def _on_choice(self) -> None:
        """Show the command for what is chosen, or what is wrong with it."""
        self._error.value = ""
        try:
            self._plan()
        except BenchError as error:
            self._error.value = showing.error(error)
        self._show_commands()

    def _plan(self) -> Plan:
        """Return the plan of what is chosen: with the kept results where all of them can take turns, else alone."""
        (chosen,) = experiment("explore").plan(cases=[self._choice.spelled()]).cases
        others = [entry.result.case for entry in self._in_turns()] if takes_turns(chosen) else []
        if len(others) == MOST:
            raise UsageError(f"at most {MOST} results take turns: take one off the page (✕)")
        spelled = [*map(command.spelled, others), self._choice.spelled()]
        return experiment("explore").plan(cases=spelled, **self._amount_of(spelled))

    def _amount_of(self, spelled: Sequence[command.Spelled]) -> dict[str, Any]:
        """Return the parameters that say how much of these cases is measured."""
        if experiment("explore").plan(cases=list(spelled), **self._amount).slice_s:
            return self._amount | ({"until_width": self._until.value} if self._until.value else {})
        usual = IN_STARTS if self._amount["profile"] == "class" else {}
        return self._amount | {name: value for name, value in usual.items() if self._amount[name] is None}

    def _in_turns(self) -> list[Entry]:
        """Return the results that are measured again with what is chosen."""
        return [entry for entry in self._entries if takes_turns(entry.result.case)] if not self._is_example else []

    def _on_run(self, _: Any) -> None:
        """Measure what is chosen."""
        if self._measurement:
            return
        self._run.disabled, self._error.value = True, ""
        self._say("Starting")
        try:
            plan = self._plan()
            again = self._in_turns() if len(plan.cases) > 1 else []
            self._kept = [] if self._is_example else [entry for entry in self._entries if entry not in again]
            self._measurement, self._axis = Measurement(plan, self._say, self._on_block, self._on_end), None
            self._make_rows(len(self._kept) + len(plan.cases))
            self._picture.layout.visibility = "hidden"  # its colours are those of the results before
            self._on_block(self._measurement)
            self._show_commands()
            self._measurement.start()
        except BenchError as error:
            self._error.value, self._status.value = showing.error(error), ""
        self._able()

    def _say(self, text: str) -> None:
        self._status.value = showing.status(text)

    def _on_block(self, measurement: Measurement) -> None:
        """Show what is measured so far: as HTML, which takes far less time than a picture."""
        plan = measurement.plan
        kept = [replace(row, ratio=None) for row in showing.shown(self._kept)]
        ratios, blocks = dict(measurement.ratios()), measurement.blocks
        base = next((base for base, _ in ratios), None)
        ratios |= {} if base is None else {(base, base): BASE}
        note = f"block {blocks} of {plan.starts}"
        new = [
            Shown("", measurement.medians_us(case), None if base is None else ratios.get((base, case)), note)
            for case in range(len(plan.cases))
        ]
        cases = [*(entry.result.case for entry in self._kept), *plan.cases]
        rows = [replace(row, name=name) for row, name in zip([*kept, *new], labels(tuple(cases)), strict=True)]
        self._show_rows(rows, "<b>Measuring</b>")
        self._axis = self._axis if axis.have_ends(rows) else None  # from then on it keeps its ends
        if blocks:
            self._say(measurement.state)
            self._bar.value = blocks / plan.starts

    def _on_end(self, measurement: Measurement) -> None:
        """Add the measurement to the results, and report how it ended."""
        self._say("Drawing")
        self._error.value = showing.error(measurement.error) if measurement.error else ""
        run, self._measurement, self._axis = measurement.run, None, None
        try:
            if run:
                with self._lock:
                    self._entries = [*_of_this_machine(self._kept, run), *_entries(run)]
                    self._is_example = False
            self._refresh()
        finally:
            self._bar.value = 0
            self._say(measurement.ending)
            self._able()

    def _on_save(self, _: Any) -> None:
        self._save.disabled = True
        self._say("Saving the figure")
        threading.Thread(target=self._save_figure, name="saving", daemon=True).start()

    def _save_figure(self) -> None:
        """Keep the results as one run, save its figure, and show it."""
        try:
            run = collect([entry.result for entry in self._entries])
            run.folder.update(checks=[check.as_dict() for check in checks.check(run)])
            files = panels.save(run)
            text = f"Saved {' and '.join(paths.shown(file) for file in files)}, of run {run.id}"
            again = showing.command("Draw it again:", f"papermill explore.ipynb out.ipynb -p source {run.id}")
            image = widgets.Image(value=files[-1].read_bytes(), format="png", layout=widgets.Layout(max_width="1000px"))
            self._saved.children = [widgets.HTML(showing.status(text) + again), image]
            self._say(text)
        except BenchError as error:
            self._error.value = showing.error(error)
        finally:
            self._able()

    def _refresh(self) -> None:
        """Show all results as they are now; the picture is drawn beside, because it takes longer than a click may."""
        with self._lock:
            names = labels(tuple(entry.result.case for entry in self._entries))
            entries = self._entries = [
                replace(entry, row=replace(entry.row, name=name))
                for entry, name in zip(self._entries, names, strict=True)
            ]
        self._make_rows(len(entries), entries)
        self._show_rows(showing.shown(entries), showing.heading(entries, self._is_example))
        runs = {entry.result.run.id: entry for entry in entries}
        self._cards.children = [widgets.HTML(showing.card(entry), layout={"width": "100%"}) for entry in runs.values()]
        self._cards.titles = [
            f"{', '.join(entry.row.name for entry in entries if entry.result.run.id == run)}: {last.score}"
            for run, last in runs.items()
        ]
        self._trust.children = [self._cards] if entries else [widgets.HTML(showing.NOTHING_YET)]
        self._show_commands()
        self._able()
        threading.Thread(target=self._draw, args=[entries], name="drawing", daemon=True).start()

    def _make_rows(self, count: int, entries: Sequence[Entry] = ()) -> None:
        """Make the lines of the results, each with a button that takes it off, once it is measured."""
        lines = [widgets.HBox([widgets.HTML(layout=_rest()), self._button("✕", lambda _: None)]) for _ in range(count)]
        for line, entry in itertools.zip_longest(lines, entries):
            forget = line.children[1]
            forget.layout, forget.disabled = widgets.Layout(width="30px", padding="0"), entry is None
            if entry is not None:
                forget.tooltip = f"forget {entry.row.name}"
                forget.on_click(lambda _, entry=entry: self.forget(entry))
        self._rows.children = lines

    def _show_rows(self, rows: Sequence[Shown], heading: str) -> None:
        self._axis = on = axis.axis(rows, self._axis)
        for index, (line, row) in enumerate(zip(self._rows.children, rows, strict=True)):
            line.children[0].value = axis.drawn(row, index, on)
        self._heading.value = showing.heading_of(heading)
        self._below.value = axis.below(rows, on)

    def _draw(self, entries: Sequence[Entry]) -> None:
        self._picture.value = showing.picture([entry.row for entry in entries])
        self._picture.layout.visibility = "hidden" if self._measurement else None
        self._numbers.value = showing.numbers(entries)

    def _show_commands(self) -> None:
        """Show the command that measures the results in a shell, or without any the choice."""
        lines = []
        with contextlib.suppress(BenchError):  # of a choice that cannot be measured there is no command
            self._plan()
            kept = [] if self._is_example else [entry.result.case for entry in self._entries]
            if self._measurement:
                kept = list(self._measurement.plan.cases)
            alike = [[case for case in kept if takes_turns(case) == turn] for turn in (True, False)]
            what = "these results" if kept else "the choice above"
            for group in [list(map(command.spelled, cases)) for cases in alike if cases] or [[self._choice.spelled()]]:
                measuring = command.measuring(group, command.unusual(self._amount_of(group)))
                lines.append(showing.command(f"In a shell, in <code>notebooks/</code>, {what}:", measuring))
                what = "and those that take no turns"
        self._commands.value = "".join(lines)

    def _able(self) -> None:
        """Enable the buttons that can be used now."""
        runs = self._measurement is not None
        self._run.disabled, self._stop.disabled = runs, not runs
        self._save.disabled = runs or not self._entries
        self._forget.disabled = runs or not self._entries


def _rest() -> widgets.Layout:
    """Return the layout of what takes the rest of a line."""
    return widgets.Layout(flex="1 1 0", min_width="0")


def _entries(run: Run) -> list[Entry]:
    """Return the results of all measured cases of a run."""
    return [showing.entry(Result(run, case)) for case in run.numbers]


def _of_this_machine(entries: Sequence[Entry], run: Run) -> list[Entry]:
    """Return the results that were measured where this run was: a stored run may come from another machine."""
    here = run.manifest["machine"]["machine_id"]
    return [entry for entry in entries if entry.result.run.manifest["machine"]["machine_id"] == here]


def _on_interrupt(stop: Callable[[], None]) -> None:
    """Let the kernel's interrupt stop a measurement while no cell runs.

    IPython ignores it then: what is set here is put in place when the cell has ended, and after each later one.
    """
    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is not None and threading.current_thread() is threading.main_thread():
        kernel.saved_sigint_handler = lambda number, frame: threading.Thread(target=stop).start()
