"""The choice on the page: inputs for system, transport, options, payload, load and placement."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from bench import message_types, systems
from bench.apps.exploring import inputs
from bench.errors import BenchError, NotInstalledError
from bench.plan import placement
from bench.plan.case import MOST_BYTES, MOST_CALLS, MOST_CLIENTS, MOST_PER_S
from bench.validation import message_support

FIRST = "zeromq"
CONNECTIONS = 8  # of an open load, unless another number is chosen
MESSAGES = [message_types.BYTES, *message_types.KINDS]
LOADS = [("closed: callers wait", "closed"), ("open: users at a rate", "open")]


class Choice:
    """The inputs, and the case that they spell."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._is_changing = False
        names = systems.names()
        self.system = self._dropdown("system", names, FIRST if FIRST in names else names[0])
        self.transport = self._dropdown("transport", ["tcp"], "tcp")
        self.payload = self._number("payload [bytes]", 1000, MOST_BYTES)
        self.message = self._dropdown("message", MESSAGES, message_types.BYTES)
        self.load = self._dropdown("load", LOADS, "closed")
        self.clients = self._number("callers", 1, MOST_CLIENTS)
        self.rate = self._number("rate [per second]", 500, MOST_PER_S)
        self.renewed = self._number("calls per connection", 0, MOST_CALLS, least=0)
        self.renewed.tooltip = "after so many calls a caller opens a new connection; 0: connections are kept"
        places = ["default", *placement.PLACEMENTS]
        self.placement = self._dropdown("placement", places, "default")
        self.options: dict[str, widgets.Widget] = {}
        self.is_carrying = False  # whether the system carries structured messages
        self.failure = ""  # why the system cannot be used here
        self._what = widgets.HTML(layout=widgets.Layout(width="318px"))
        self._own = widgets.VBox()  # the options of the chosen system
        self.box = widgets.VBox([self.system, self._what, self.transport, self._own, *self._common()])
        self._take_system()
        self.system.observe(self._on_system, "value")
        self.load.observe(self._on_load, "value")
        for widget in {self.transport, *self._common()} - {self.load}:
            widget.observe(self._changed, "value")
        threading.Thread(target=_import_all, name="systems", daemon=True).start()

    def _common(self) -> list[widgets.Widget]:
        """Return the inputs of all systems: they stay in the page, and so does what is being typed into one."""
        return [self.payload, self.message, self.load, self.rate, self.renewed, self.clients, self.placement]

    @staticmethod
    def _dropdown(name: str, options: list[Any], value: Any) -> widgets.Dropdown:
        look = {"style": inputs.WIDE, "layout": inputs.layout()}
        return widgets.Dropdown(options=options, value=value, description=name, **look)

    @staticmethod
    def _number(name: str, value: int, most: int, least: int = 1) -> widgets.BoundedIntText:
        look = {"style": inputs.WIDE, "layout": inputs.layout()}
        return widgets.BoundedIntText(value, min=least, max=most, description=name, **look)

    def spelled(self) -> dict[str, Any]:
        """Return the case as the plan of explore reads it; NotInstalledError if the system is not there."""
        if self.failure:
            raise NotInstalledError(self.failure)
        plain = {"system": self.system.value, "transport": self.transport.value, "payload_bytes": self.payload.value}
        if options := self.changed_options():
            plain["options"] = options
        if self.load.value == "open":
            plain["rate"] = self.rate.value
        if self.clients.value > 1 or self.load.value == "open":
            plain["clients"] = self.clients.value
        if self.renewed.value and self.load.value == "closed":
            plain["calls_per_connection"] = self.renewed.value
        if self.is_carrying and self.message.value != message_types.BYTES:
            plain["message"] = self.message.value
        if self.placement.value != "default":
            plain["placement"] = self.placement.value
        return plain

    def changed_options(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        return {name: widget.value for name, widget in self.options.items() if widget.value != self._defaults[name]}

    def _on_system(self, change: Any) -> None:
        self._take_system()
        self._on_change()

    def _take_system(self) -> None:
        """Offer the transports and options of the chosen system."""
        name = self.system.value
        self._is_changing = True
        description = ""
        try:
            provided = systems.constant(name, "TRANSPORTS")
            with self.transport.hold_sync():  # one message, or what is chosen between two is lost
                self.transport.options = provided
                self.transport.value = "ipc" if "ipc" in provided else provided[0]
            description = systems.describe(name).partition(": ")[2]
            systems.need(name)
            self.options, self.failure = inputs.of(systems.load(name).Options), ""
            self.is_carrying = message_support.carries(name, message_types.KINDS[0])
        except BenchError as error:
            self.options, self.failure, self.is_carrying = {}, str(error), False
        self._defaults = {option: widget.value for option, widget in self.options.items()}
        for widget in self.options.values():
            widget.observe(self._changed, "value")
        self._what.value = f'<div class="rt-note">{description or name}</div>'
        self._show()
        self._is_changing = False

    def _on_load(self, change: Any) -> None:
        is_open = self.load.value == "open"
        self.clients.description = "connections" if is_open else "callers"
        self._is_changing = True
        usual, before = (CONNECTIONS, 1) if is_open else (1, CONNECTIONS)
        self.clients.value = usual if self.clients.value == before else self.clients.value
        self._is_changing = False
        self._show()
        self._on_change()

    def _show(self) -> None:
        """Show the inputs that the system and the load have."""
        self._own.children = list(self.options.values())
        is_open = self.load.value == "open"
        for widget, is_used in [(self.message, self.is_carrying), (self.rate, is_open), (self.renewed, not is_open)]:
            widget.layout.display = None if is_used else "none"

    def _changed(self, change: Any) -> None:
        if not self._is_changing:
            self._on_change()


def _import_all() -> None:
    """Import the systems ahead, so that choosing one is answered at once."""
    for name in systems.names():
        with contextlib.suppress(BenchError):
            systems.load(name)
