"""The event loops of systems with asyncio: their option ``event_loop`` is asyncio or uvloop, on both sides.

Open loads with several calls under way keep asyncio's loop on the client: their requests are due at microseconds, and
uvloop's timers are whole milliseconds (``bench.child.event_loop``).
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Literal

from bench.errors import NotInstalledError

EventLoop = Literal["asyncio", "uvloop"]


def factory(options: Any) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the event loop that a system's options name; None for asyncio's own, or without the option.

    NotInstalledError, with the command that installs it, for a loop that is not installed.
    """
    if (name := getattr(options, "event_loop", "asyncio")) == "asyncio":
        return None
    from importlib import import_module

    try:
        made: Callable[[], asyncio.AbstractEventLoop] = import_module(name).new_event_loop
    except ImportError as absent:
        text = f"{name} is not installed; install it: python -m pip install {name}"
        raise NotInstalledError(text) from absent
    return made


def run(main: Coroutine[Any, Any, Any], options: Any) -> None:
    """Run a server's coroutine in the event loop that its options name."""
    with asyncio.Runner(loop_factory=factory(options)) as runner:
        runner.run(main)
