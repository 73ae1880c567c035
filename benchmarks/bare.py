"""Bare loops to hold the laboratory against: what a person would write who needs one number.

``python bare.py server|client|receiver|sender SYSTEM TRANSPORT CPU PLACE SIZE SECONDS``: servers print where they
listen; a client prints its median RTT in ns, a receiver its messages per second.
"""

import asyncio
import os
import socket
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import bare_frameworks as frameworks
import grpc
import zmq

LENGTH = struct.Struct("!I")


def zeromq(kind, transport, place):
    """Return a bound (servers, receivers) or connected socket and where it listens."""
    found = zmq.Context.instance().socket(kind)
    if kind in (zmq.REP, zmq.PULL):
        found.bind(f"ipc://{place}/bare.sock" if transport == "ipc" else "tcp://127.0.0.1:*")
        print(found.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0"), flush=True)
    else:
        found.connect(place)
    return found


def listen(transport, place):
    """Return a listening stream socket; print where."""
    if transport == "ipc":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{place}/bare.sock")
        listener.listen()
        print(f"{place}/bare.sock", flush=True)
    else:
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
    return listener


def connect(transport, place):
    """Return a connected stream socket."""
    if transport == "ipc":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(place)
    else:
        connection = socket.create_connection(("127.0.0.1", int(place)))
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


def grpc_server(transport, place):
    """Echo bytes by gRPC for ever."""
    call = grpc.unary_unary_rpc_method_handler(lambda request, context: request)
    handlers = (grpc.method_handlers_generic_handler("bare.Echo", {"Call": call}),)
    server = grpc.server(ThreadPoolExecutor(10), handlers)
    port = server.add_insecure_port(f"unix:{place}/bare.sock" if transport == "ipc" else "127.0.0.1:0")
    server.start()
    print(f"unix:{place}/bare.sock" if transport == "ipc" else f"127.0.0.1:{port}", flush=True)
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


async def wamp_session(place):
    """Return a session at the router; autobahn, raw sockets, MessagePack."""
    from autobahn.asyncio.rawsocket import WampRawSocketClientFactory
    from autobahn.asyncio.wamp import ApplicationSession
    from autobahn.wamp.serializer import MsgPackSerializer
    from autobahn.wamp.types import ComponentConfig

    joined = asyncio.get_running_loop().create_future()
    session = ApplicationSession(ComponentConfig("roundtrip"))
    session.onJoin = joined.set_result
    factory = WampRawSocketClientFactory(lambda: session, serializer=MsgPackSerializer())
    if place.startswith("ipc://"):
        await asyncio.get_running_loop().create_unix_connection(factory, place.removeprefix("ipc://"))
    else:
        host, port = place.removeprefix("tcp://").split(":")
        await asyncio.get_running_loop().create_connection(factory, host, int(port))
    await joined
    return session


async def wamp_server(place):
    """Echo by WAMP for ever."""
    session = await wamp_session(place)
    await session.register(lambda payload: payload, f"bare.{os.getpid()}")
    print(f"{place} bare.{os.getpid()}", flush=True)
    await asyncio.get_running_loop().create_future()


async def wamp_client(place, size, seconds):
    """Do what ``client`` does, through a router."""
    place, procedure = place.split()
    session = await wamp_session(place)
    payload = os.urandom(size)
    await timed(lambda: session.call(procedure, payload), seconds)


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


async def http_client(place, size, seconds):
    """Do what ``client`` does, by one session of aiohttp with the settings that the laboratory chooses."""
    import aiohttp

    url, payload = f"http://127.0.0.1:{place}/echo", os.urandom(size)
    settings = {"timeout": aiohttp.ClientTimeout(total=None), "auto_decompress": False}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), **settings) as session:

        async def call():
            async with session.post(url, data=payload, allow_redirects=False) as reply:
                await reply.read()

        await timed(call, seconds)


def login():
    """Return the user and the password that the broker asks for."""
    return os.environ["ROUNDTRIP_BROKER_LOGIN"].split(":")


async def nats_connection(place):
    """Return a client of a NATS server at tcp://HOST:PORT."""
    import nats

    user, password = login()
    return await nats.connect(place.replace("tcp", "nats", 1), user=user, password=password)


def redis_connection(place):
    """Return a client of a Redis server at tcp://HOST:PORT or ipc:///PATH."""
    import redis

    user, password = login()
    same = {"username": user, "password": password, "protocol": 2, "socket_timeout": None}
    if place.startswith("ipc://"):
        return redis.Redis(unix_socket_path=place.removeprefix("ipc://"), **same)
    host, port = place.removeprefix("tcp://").split(":")
    return redis.Redis(host=host, port=int(port), **same)


def redis_server(place):
    """Echo by two lists of a Redis server for ever."""
    broker, name = redis_connection(place), f"bare.{os.getpid()}"
    print(f"{place} {name}", flush=True)
    while True:
        _, request = broker.blpop(name, 0)
        broker.rpush(request[:8], request[8:])


async def nats_server(place):
    """Echo by NATS for ever."""
    broker, name = await nats_connection(place), f"bare.{os.getpid()}"

    async def respond(request):
        await request.respond(request.data)

    await broker.subscribe(name, cb=respond)
    await broker.flush()
    print(f"{place} {name}", flush=True)
    await asyncio.get_running_loop().create_future()


async def nats_client(place, size, seconds):
    """Do what ``client`` does, through a NATS server."""
    place, name = place.split()
    broker = await nats_connection(place)
    payload = os.urandom(size)
    await timed(lambda: broker.request(name, payload, 10), seconds)


def median(times, end, seconds):
    """Return the median RTT of the calls after a fifth of the time."""
    warm = sorted(rtt for at, rtt in times if at > end - 0.8e9 * seconds)
    return warm[len(warm) // 2]


def server(system, transport, place):
    """Echo for ever."""
    if system == "grpc_sync":
        grpc_server(transport, place)
    if system == "wamp_crossbar":
        asyncio.run(wamp_server(place))
    if system == "http_aiohttp":
        asyncio.run(http_server())
    if system == "redis":
        redis_server(place)
    if system == "nats":
        asyncio.run(nats_server(place))
    if system in frameworks.SERVERS:
        frameworks.SERVERS[system](transport, place)
    if system == "zeromq":
        replier = zeromq(zmq.REP, transport, place)
        while True:
            replier.send(replier.recv())
    connection, _ = listen(transport, place).accept()
    if transport == "tcp":
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
    while True:
        payload = receive(connection)
        connection.sendall(LENGTH.pack(len(payload)) + payload)


def client(system, transport, place, size, seconds):
    """Call until the time is over; print the median RTT of all calls after a fifth of it."""
    payload, clock, times = os.urandom(size), time.perf_counter_ns, []
    if system == "wamp_crossbar":
        asyncio.run(wamp_client(place, size, seconds))
    elif system == "http_aiohttp":
        asyncio.run(http_client(place, size, seconds))
    elif system == "nats":
        asyncio.run(nats_client(place, size, seconds))
    elif system == "redis":
        place, name = place.split()
        broker, key = redis_connection(place), os.urandom(4).hex().encode()
    elif system == "http_asgi":
        import uvloop

        uvloop.run(http_client(place, size, seconds))
    elif system in frameworks.CALLERS:
        call = frameworks.CALLERS[system](transport, place)
    elif system == "grpc_sync":
        call = grpc.insecure_channel(place).unary_unary("/bare.Echo/Call")
        call(payload)
    elif system == "zeromq":
        requester = zeromq(zmq.REQ, transport, place)
        send, recv = requester.send, requester.recv
    else:
        connection = connect(transport, place)
    end = clock() + int(seconds * 1e9)
    now = 0
    while now < end:
        began = clock()
        if system == "zeromq":
            send(payload)
            recv()
        elif system == "redis":
            broker.rpush(name, key + payload)
            broker.blpop(key, 10)
        elif system == "grpc_sync" or system in frameworks.CALLERS:
            call(payload)
        else:
            connection.sendall(LENGTH.pack(len(payload)) + payload)
            receive(connection)
        now = clock()
        times.append((now, now - began))
    return print(median(times, end, seconds))


def receiver(_, transport, place):
    """Receive until an empty message; print messages per second."""
    puller, count = zeromq(zmq.PULL, transport, place), 0
    recv = puller.recv
    recv()
    began = time.perf_counter()
    while recv():
        count += 1
    print(count / (time.perf_counter() - began), flush=True)


def sender(_, transport, place, size, seconds):
    """Send for some time, then an empty message."""
    pusher, payload = zeromq(zmq.PUSH, transport, place), os.urandom(size)
    send, end = pusher.send, time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(256):
            send(payload)
    send(b"")
    pusher.close(linger=-1)
    zmq.Context.instance().term()


if __name__ == "__main__":
    role, system, transport, cpu, place, size, seconds = sys.argv[1:]
    os.sched_setaffinity(0, [int(cpu)])
    if role in ("server", "receiver"):
        globals()[role](system, transport, place)
    else:
        globals()[role](system, transport, place, int(size), float(seconds))
