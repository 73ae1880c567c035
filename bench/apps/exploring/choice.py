"""The choice on the page: inputs for system, transport, options, payload, load and placement."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from bench import systems
from bench.apps.exploring import inputs
from bench.codecs import message_types
from bench.errors import BenchError, NotInstalledError
from bench.measurement.validation import message_support
from bench.plan import placement
from bench.plan.case import MOST_BYTES, MOST_CALLS, MOST_CLIENTS, MOST_PER_S

FIRST = "zeromq"
CONNECTIONS = 8  # of an open load, unless another number is chosen
MESSAGES = [message_types.BYTES, *message_types.KINDS]
LOADS = [("closed: callers wait", "closed"), ("open: users at a rate", "open")]
USUAL: tuple[Any, ...] = (None, {}, 0, message_types.BYTES, "default")  # what a case needs not say


class Choice:
    """The inputs, and the case that they spell; ``on_change`` is called after each change."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        names = systems.names()
        self.system = inputs.dropdown("system", names, FIRST if FIRST in names else names[0])
        self.transport = inputs.dropdown("transport", ["tcp"])
        self.payload = inputs.number("payload [bytes]", 1000, MOST_BYTES)
        self.message = inputs.dropdown("message", MESSAGES)
        self.load = inputs.dropdown("load", LOADS)
        self.rate = inputs.number("rate [per second]", 500, MOST_PER_S)
        self.renewed = inputs.number("calls per connection", 0, MOST_CALLS, lowest=0)
        self.renewed.tooltip = "after so many calls a caller opens a new connection; 0: connections are kept"
        self.clients = inputs.number("callers", 1, MOST_CLIENTS)
        self.placement = inputs.dropdown("placement", ["default", *placement.PLACEMENTS])
        self.options: dict[str, widgets.Widget] = {}
        self.failure = ""  # why the system cannot be used here
        self._what = widgets.HTML(layout=widgets.Layout(width=inputs.WIDTH))
        self._own = widgets.VBox()  # the options of the chosen system
        # The inputs of all systems stay in the page, and so does what is being typed into one.
        common = [self.payload, self.message, self.load, self.rate, self.renewed, self.clients, self.placement]
        self.box = widgets.VBox([self.system, self._what, self.transport, self._own, *common])
        self._take_system()
        self._take_load()
        self.system.observe(self._take_system, "value")
        self.load.observe(self._take_load, "value")
        for widget in (self.system, self.transport, *common):
            widget.observe(self._changed, "value")
        threading.Thread(target=_import_all, name="systems", daemon=True).start()

    def spelled(self) -> dict[str, Any]:
        """Return the case as the plan of explore reads it; NotInstalledError if the system is not there."""
        if self.failure:
            raise NotInstalledError(self.failure)
        is_open, is_carrying = self.load.value == "open", self.message.layout.display is None
        asked = {
            "options": self.changed_options(),
            "rate": self.rate.value if is_open else None,
            "clients": self.clients.value if is_open or self.clients.value > 1 else None,
            "calls_per_connection": None if is_open else self.renewed.value,
            "message": self.message.value if is_carrying else None,
            "placement": self.placement.value,
        }
        always = {"system": self.system.value, "transport": self.transport.value, "payload_bytes": self.payload.value}
        return always | {name: value for name, value in asked.items() if value not in USUAL}

    def changed_options(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        return {name: widget.value for name, widget in self.options.items() if widget.value != self._defaults[name]}

    def _take_system(self, _: Any = None) -> None:
        """Offer the transports and options of the chosen system."""
        name, provided, description = self.system.value, self.transport.options, ""
        self.options, self.failure, is_carrying = {}, "", False
        try:
            provided = systems.constant(name, "TRANSPORTS")
            description = systems.describe(name).partition(": ")[2]
            systems.need(name)
            self.options = inputs.of_options(systems.load(name).Options)
            is_carrying = message_support.carries(name, message_types.KINDS[0])
        except BenchError as error:
            self.failure = str(error)
        self._defaults = {option: widget.value for option, widget in self.options.items()}
        for widget in self.options.values():
            widget.observe(self._changed, "value")
        self._what.value = f'<div class="rt-note">{description or name}</div>'
        self._own.children = list(self.options.values())
        _show(self.message, is_carrying)
        with self.transport.hold_sync():  # one message, or what is chosen between two is lost
            self.transport.options = provided
            self.transport.value = "ipc" if "ipc" in provided else provided[0]

    def _take_load(self, _: Any = None) -> None:
        """Show the inputs of the chosen load, and its usual number of clients."""
        is_open = self.load.value == "open"
        _show(self.rate, is_open)
        _show(self.renewed, not is_open)
        self.clients.description = "connections" if is_open else "callers"
        usual, before = (CONNECTIONS, 1) if is_open else (1, CONNECTIONS)
        self.clients.value = usual if self.clients.value == before else self.clients.value

    def _changed(self, _: Any) -> None:
        self._on_change()


def _show(widget: widgets.Widget, is_used: bool) -> None:
    widget.layout.display = None if is_used else "none"


def _import_all() -> None:
    """Import the systems ahead, so that choosing one is answered at once."""
    for name in systems.names():
        with contextlib.suppress(BenchError):
            systems.load(name)
