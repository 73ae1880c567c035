"""The agent as an actor of Dask: its calls in the worker's thread for actors, its polls beside them.

Words and answers are pickled here: Dask would look at each part of them, which takes longer than all the rest.
"""

import asyncio
import contextlib
import pickle
import threading

from bench.measurement.hosts.agent import Agent


class AgentActor:
    """An agent that a Dask worker holds; it ends its children when the worker releases it."""

    def __init__(self) -> None:
        self._agent = Agent()

    def call(self, orders: bytes) -> bytes:
        """Call the agent's methods one after the other; return what each returned or raised."""
        return pickle.dumps(self._agent.call(pickle.loads(orders)))

    async def reports(self, seconds: float) -> bytes:
        """Return what children have sent, without keeping the event loop or other calls from running."""
        return pickle.dumps(await asyncio.to_thread(self._agent.poll, seconds))

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # while the interpreter ends, so do the children
            threading.Thread(target=self._agent.close, name="release").start()
