"""The agent as an actor of Dask: its calls in the worker's thread for actors, its polls beside them."""

import asyncio
import contextlib
import threading
from typing import Any

from bench.measurement.agent import Agent, Output


class AgentActor:
    """An agent that a Dask worker holds; it ends its children when the worker releases it."""

    def __init__(self) -> None:
        """Make an agent."""
        self._agent = Agent()

    def call(self, number: int, name: str, words: tuple[Any, ...]) -> Any:
        """Call the agent."""
        return self._agent.call(number, name, words)

    async def reports(self, number: int, seconds: float) -> list[Output]:
        """Return what children have sent, without keeping the event loop or other calls from running."""
        return await asyncio.to_thread(self._agent.poll, number, seconds)

    def __del__(self) -> None:
        """End all children, beside whatever releases this: nobody can call any more."""
        with contextlib.suppress(Exception):  # while the interpreter ends, so do the children
            threading.Thread(target=self._agent.close, name="release").start()
