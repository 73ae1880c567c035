"""Bare loops with which bench is compared: what a person would write who needs one number.

``python bare.py server|client|receiver|sender SYSTEM TRANSPORT CPU LOCATION SIZE SECONDS``: servers print where they
listen; a client prints its median RTT in ns, a receiver its messages per second.
"""

import asyncio
import os
import socket
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import zmq

LENGTH = struct.Struct("!I")


def zeromq(kind, transport, location):
    """Return a bound (servers, receivers) or connected socket and where it listens."""
    zmq_socket: Any = zmq.Context.instance().socket(kind)
    if kind in (zmq.REP, zmq.PULL):
        zmq_socket.bind(f"ipc://{location}/bare.sock" if transport == "ipc" else "tcp://127.0.0.1:*")
        print(zmq_socket.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0"), flush=True)
    else:
        zmq_socket.connect(location)
    return zmq_socket


def listen(transport, folder):
    """Return a listening stream socket; print where."""
    if transport == "ipc":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{folder}/bare.sock")
        listener.listen()
        print(f"{folder}/bare.sock", flush=True)
    else:
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
    return listener


def connect(transport, address):
    """Return a connected stream socket."""
    if transport == "ipc":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address)
    else:
        connection = socket.create_connection(("127.0.0.1", int(address)))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
    return connection


def receive(connection):
    """Return one length-prefixed message."""
    data = connection.recv(65536)
    if not data:
        sys.exit()
    (size,) = LENGTH.unpack_from(data)
    while len(data) < size + 4:
        data += connection.recv(65536)
    return data[4:]


def grpc_server(transport, folder):
    """Echo bytes by gRPC for ever."""
    call = grpc.unary_unary_rpc_method_handler(lambda request, context: request)
    handlers = (grpc.method_handlers_generic_handler("bare.Echo", {"Call": call}),)
    server = grpc.server(ThreadPoolExecutor(10), handlers)
    port = server.add_insecure_port(f"unix:{folder}/bare.sock" if transport == "ipc" else "127.0.0.1:0")
    server.start()
    print(f"unix:{folder}/bare.sock" if transport == "ipc" else f"127.0.0.1:{port}", flush=True)
    server.wait_for_termination()


async def timed(call, seconds):
    """Await calls until the time is over; print the median RTT of all after a fifth of it, and end this process."""
    clock, times, now = time.perf_counter_ns, [], 0
    end = clock() + int(seconds * 1e9)
    while now < end:
        began = clock()
        await call()
        now = clock()
        times.append((now, now - began))
    print(median(times, end, seconds), flush=True)
    os._exit(0)


async def http_server():
    """Echo by HTTP for ever: aiohttp, as its documentation shows it."""
    from aiohttp import web

    async def echo(request):
        return web.Response(body=await request.read())

    application = web.Application()
    application.add_routes([web.post("/echo", echo)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.get_running_loop().create_future()


async def http_client(port, size, seconds):
    """Do what ``client`` does, by one session of aiohttp with the settings that bench chooses."""
    import aiohttp

    url, payload = f"http://127.0.0.1:{port}/echo", os.urandom(size)
    connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False) as session:

        async def call():
            async with session.post(url, data=payload, allow_redirects=False) as reply:
                await reply.read()

        await timed(call, seconds)


def median(times, end, seconds):
    """Return the median RTT of the calls after a fifth of the time."""
    warm = sorted(rtt for at, rtt in times if at > end - 0.8e9 * seconds)
    return warm[len(warm) // 2]


def server(system, transport, folder):
    """Echo for ever."""
    if system == "grpc_sync":
        grpc_server(transport, folder)
    if system == "http_aiohttp":
        asyncio.run(http_server())
    if system == "zeromq":
        replier = zeromq(zmq.REP, transport, folder)
        while True:
            replier.send(replier.recv())
    connection, _ = listen(transport, folder).accept()
    if transport == "tcp":
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
    while True:
        payload = receive(connection)
        connection.sendall(LENGTH.pack(len(payload)) + payload)


def client(system, transport, address, size, seconds):
    """Call until the time is over; print the median RTT of all calls after a fifth of it."""
    payload, clock, times = os.urandom(size), time.perf_counter_ns, []
    if system == "http_aiohttp":
        asyncio.run(http_client(address, size, seconds))
    elif system == "grpc_sync":
        call = grpc.insecure_channel(address).unary_unary("/bare.Echo/Call")
        call(payload)
    elif system == "zeromq":
        requester = zeromq(zmq.REQ, transport, address)
        send, recv = requester.send, requester.recv
    else:
        connection = connect(transport, address)
    end = clock() + int(seconds * 1e9)
    now = 0
    while now < end:
        began = clock()
        if system == "zeromq":
            send(payload)
            recv()
        elif system == "grpc_sync":
            call(payload)
        else:
            connection.sendall(LENGTH.pack(len(payload)) + payload)
            receive(connection)
        now = clock()
        times.append((now, now - began))
    return print(median(times, end, seconds))


def receiver(_, transport, folder):
    """Receive until an empty message; print messages per second."""
    puller, count = zeromq(zmq.PULL, transport, folder), 0
    recv = puller.recv
    recv()
    began = time.perf_counter()
    while recv():
        count += 1
    print(count / (time.perf_counter() - began), flush=True)


def sender(_, transport, address, size, seconds):
    """Send for some time, then an empty message."""
    pusher, payload = zeromq(zmq.PUSH, transport, address), os.urandom(size)
    send, end = pusher.send, time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(256):
            send(payload)
    send(b"")
    pusher.close(linger=-1)
    zmq.Context.instance().term()


if __name__ == "__main__":
    role, system, transport, cpu, location, size, seconds = sys.argv[1:]
    os.sched_setaffinity(0, [int(cpu)])
    if role in ("server", "receiver"):
        globals()[role](system, transport, location)
    else:
        globals()[role](system, transport, location, int(size), float(seconds))
