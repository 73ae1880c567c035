"""The server of streams of replies by ZeroMQ: one ROUTER socket, a task for each request.

An empty message ends a stream. A ROUTER drops what a peer's queue cannot take, unless it is set to refuse: then the
reply waits until the client has read, so that memory stays bounded by the two high-water marks.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import zmq
import zmq.asyncio

from bench.errors import TransportError
from bench.plan.replies import END
from bench.systems import _tokens

FULL_S = 0.002  # between two attempts to send to a client that does not read
MOST_SOCKETS = 16_384  # of a process; the library's own limit is 1 023


def context() -> Any:
    """Return the process's one context for event loops, with room for many sockets."""
    shared = zmq.asyncio.Context.instance()
    shared.set(zmq.MAX_SOCKETS, MOST_SOCKETS)
    return shared


async def serve(
    socket: Any, announce: Callable[[], None], replies: Callable[[bytes], AsyncIterator[bytes]], codec: str
) -> None:
    """Answer each request that a ROUTER socket receives with a stream of replies, in a task of its own."""
    socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
    encode, _ = _tokens.codec(codec)
    tasks: set[asyncio.Task[None]] = set()
    announce()
    while True:
        peer, payload = await socket.recv_multipart()
        task = asyncio.create_task(_stream(socket, peer, replies(payload), encode))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


async def _stream(socket: Any, peer: bytes, source: AsyncIterator[bytes], encode: _tokens.Encode) -> None:
    try:
        async for reply in source:
            await _send(socket, peer, encode(reply))
        await _send(socket, peer, END)
    except TransportError:
        await _send(socket, peer, END)  # no request: the client sees that too few replies came
    except zmq.ZMQError as reason:
        if reason.errno != zmq.EHOSTUNREACH:  # the client has gone
            raise


async def _send(socket: Any, peer: bytes, content: bytes) -> None:
    """Send one message, waiting while the client's queue is full."""
    while True:
        try:
            await socket.send_multipart((peer, content), flags=zmq.NOBLOCK)
        except zmq.Again:
            await asyncio.sleep(FULL_S)
        else:
            return
