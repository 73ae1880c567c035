"""The page: inputs, Run and Stop, the figure that grows, results with their trust cards, and commands to copy."""

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import ipywidgets as widgets
from IPython import get_ipython
from IPython.display import display

from bench import paths
from bench.analysis import checks
from bench.apps import notebook
from bench.apps.exploring import command, showing
from bench.apps.exploring.choice import Choice
from bench.apps.exploring.measuring import Measurement
from bench.apps.exploring.result_set import Result, collect
from bench.apps.exploring.showing import Entry
from bench.errors import BenchError
from bench.experiments import panels, registry
from bench.experiments.explore.findings import Row, row
from bench.plan.labels import labels
from bench.plan.plan import Plan
from bench.run.frames import Run


class Page:
    """The page in a notebook or a browser that a person has open."""

    _latest: "Page | None" = None

    def __init__(self, source: object, amount: dict[str, Any]) -> None:
        if Page._latest:
            Page._latest.stop()  # a cell that is run again makes the page anew
        Page._latest = self
        self._amount = amount
        self._entries: list[Entry] = []
        self._growing: Row | None = None
        self._measurement: Measurement | None = None
        self._lock = threading.RLock()
        self._make_widgets()
        if source != "measure":
            run = notebook.measure("explore", source=source)
            self._entries = [
                showing.entry(Result(run, case)) for case in range(len(run.plan.cases)) if case in run.cases.index
            ]
        self._refresh()
        _on_interrupt(self.stop)
        display(self._box)

    def _make_widgets(self) -> None:
        """Make everything that the page consists of."""
        self._choice = Choice(self._on_choice)
        self._run = self._button("Run", self._on_run, "primary")
        self._stop = self._button("Stop", lambda _: self.stop(), "warning")
        self._save = self._button("Save figure", self._on_save)
        self._forget = self._button("Forget all", lambda _: self.forget())
        self._bar = widgets.FloatProgress(0, min=0, max=1, layout=widgets.Layout(width="318px"))
        self._status, self._error = (widgets.HTML(layout=widgets.Layout(width="318px")) for _ in range(2))
        self._commands = widgets.HTML()
        self._picture = widgets.Image(
            format="png", layout=widgets.Layout(width="100%", max_width="660px", object_fit="contain")
        )
        self._list, self._cards, self._trust = widgets.VBox(), widgets.Accordion(), widgets.VBox()
        self._numbers = widgets.HTML(layout=widgets.Layout(width="100%"))
        self._saved = widgets.VBox([widgets.HTML(showing.status("Press <b>Save figure</b> on the page."))])
        buttons = widgets.HBox([self._run, self._stop])
        left = [self._choice.box, buttons, self._bar, self._status, self._error]
        column = widgets.VBox(left, layout=widgets.Layout(width="330px", flex="0 0 330px"))
        self._list.layout = widgets.Layout(flex="1 1 240px")
        wide = widgets.Layout(flex="1 1 0", min_width="0", flex_flow="row wrap", align_items="flex-start")
        right = widgets.HBox([self._picture, self._list], layout=wide)
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
            self._status.value = showing.status("Stopping")
            measurement.stop()

    def forget(self, entry: Entry | None = None) -> None:
        """Take a result off the page, or all; their runs stay on disk."""
        with self._lock:
            self._entries = [each for each in self._entries if entry and each is not entry]
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
        """Return the plan of what is chosen."""
        return registry.plan("explore", cases=[self._choice.spelled()], **self._amount)

    def _on_run(self, _: Any) -> None:
        """Measure what is chosen."""
        if self._measurement:
            return
        self._run.disabled, self._error.value, self._status.value = True, "", showing.status("Starting")
        try:
            self._measurement = Measurement(self._plan(), self._say, self._on_start, self._on_end)
            self._measurement.start()
        except BenchError as error:
            self._error.value, self._status.value = showing.error(error), ""
        self._able()

    def _say(self, text: str, share: float) -> None:
        if self._measurement:
            self._status.value, self._bar.value = showing.status(text), share

    def _on_start(self, run: Run) -> None:
        """Draw the result of a start."""
        self._growing = row(run, 0, "")
        self._draw()

    def _on_end(self, measurement: Measurement) -> None:
        """Add the measurement to the results, and report how it ended."""
        run, self._growing, self._measurement = measurement.run, None, None
        self._bar.value, self._status.value = 0, showing.status(measurement.ending)
        self._error.value = showing.error(measurement.error) if measurement.error else ""
        try:
            if run:
                new = showing.entry(Result(run, 0))
                with self._lock:
                    self._entries = [*_of_this_machine(self._entries, run), new]
            self._refresh()
        finally:
            self._able()

    def _on_save(self, _: Any) -> None:
        self._save.disabled, self._status.value = True, showing.status("Saving the figure")
        threading.Thread(target=self._save_figure, name="saving", daemon=True).start()

    def _save_figure(self) -> None:
        """Keep the results as one run, save its figure, and show it."""
        try:
            run = collect([entry.result for entry in self._entries])
            run.folder.update(checks=[one.as_dict() for one in checks.check(run)])
            files = panels.save(run)
            text = f"Saved {' and '.join(paths.shown(file) for file in files)}, of run {run.id}"
            again = showing.command("Draw it again:", f"papermill explore.ipynb out.ipynb -p source {run.id}")
            image = widgets.Image(value=files[-1].read_bytes(), format="png", layout=widgets.Layout(max_width="1000px"))
            self._saved.children = [widgets.HTML(showing.status(text) + again), image]
            self._status.value = showing.status(text)
        except BenchError as error:
            self._error.value = showing.error(error)
        finally:
            self._able()

    def _refresh(self) -> None:
        """Show all results as they are now; the picture is drawn beside, because it takes longer than a click may."""
        rows = self._rows()
        with self._lock:
            entries = self._entries = [
                replace(entry, row=named) for entry, named in zip(self._entries, rows, strict=False)
            ]
        self._list.children = [self._line(place, entry) for place, entry in enumerate(entries)]
        self._cards.children = [widgets.HTML(showing.card(each), layout={"width": "100%"}) for each in entries]
        self._cards.titles = [f"{entry.row.name}: {entry.score}" for entry in entries]
        nothing = showing.status("Nothing is measured yet: press <b>Run</b> on the page.")
        self._trust.children = [self._cards] if entries else [widgets.HTML(nothing)]
        self._show_commands()
        self._able()
        threading.Thread(target=self._draw, args=[True], name="drawing", daemon=True).start()

    def _line(self, place: int, entry: Entry) -> widgets.HBox:
        forget = self._button("Forget", lambda _: self.forget(entry))
        forget.tooltip = f"forget {entry.row.name}"
        forget.layout.flex = "0 0 70px"
        name = widgets.HTML(showing.named(place, entry), layout=widgets.Layout(flex="1 1 0", min_width="0"))
        return widgets.HBox([name, forget])

    def _rows(self) -> list[Row]:
        """Return the drawn results, each with the shortest name that distinguishes it from the others."""
        with self._lock:
            cases = [entry.result.of for entry in self._entries]
            rows = [entry.row for entry in self._entries]
            if self._growing is not None and self._measurement:
                cases.append(self._measurement.plan.cases[0])
                rows.append(self._growing)
        return [replace(each, name=name) for each, name in zip(rows, labels(tuple(cases)), strict=True)]

    def _draw(self, numbers: bool = False) -> None:
        self._picture.value = showing.picture(self._rows())
        if numbers:
            self._numbers.value = showing.numbers(self._entries)

    def _show_commands(self) -> None:
        """Show the commands that measure the same in a shell."""
        amount = command.unusual(self._amount)
        lines = []
        with contextlib.suppress(BenchError):
            self._plan()  # of a choice that cannot be measured there is no command
            line = command.of_case(self._choice.spelled(), amount)
            lines.append(showing.command("In a shell, in <code>notebooks/</code>, the choice above:", line))
        if len(self._entries) > 1:
            spelled = [command.spelled(entry.result.of) for entry in self._entries]
            lines.append(showing.command("All results, in turns:", command.of_all(spelled, amount)))
        self._commands.value = "".join(lines)

    def _able(self) -> None:
        """Enable the buttons that can be used now."""
        runs = self._measurement is not None
        self._run.disabled, self._stop.disabled = runs, not runs
        self._save.disabled = runs or not self._entries
        self._forget.disabled = not self._entries


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
