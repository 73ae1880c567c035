"""Bare loops of frameworks for ``bare.py``: what the documentation of each library shows, with its limits on time off.

A server prints where it listens and answers for ever; a caller returns what makes one call.
"""

import asyncio
import socket
import tempfile
from pathlib import Path

IDL = "service Echo { binary call(1: binary data) }"


def thrift_service():
    """Return the service of an interface file."""
    import thriftpy2

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "echo.thrift")
        file.write_text(IDL)
        return thriftpy2.load(str(file), "echo_thrift").Echo


def thrift_server(transport, place):
    """Echo by Thrift for ever: the library's make_server."""
    from thriftpy2.rpc import make_server

    class Handler:
        def call(self, data):
            return data

    given = {"unix_socket": f"{place}/bare.sock"}
    if transport == "tcp":
        with socket.create_server(("127.0.0.1", 0)) as free:
            given = {"host": "127.0.0.1", "port": free.getsockname()[1]}
    server = make_server(thrift_service(), Handler(), client_timeout=None, **given)
    server.trans.listen()
    server.trans.listen = lambda: None  # it listens before its address is printed
    print(given.get("port") or given["unix_socket"], flush=True)
    server.serve()


def thrift_caller(transport, place):
    """Return a call by the library's make_client."""
    from thriftpy2.rpc import make_client

    given = {"unix_socket": place} if transport == "ipc" else {"host": "127.0.0.1", "port": int(place)}
    return make_client(thrift_service(), timeout=None, **given).call


def nng_server(transport, place):
    """Echo by a REP socket of nng for ever."""
    import pynng

    with pynng.Rep0(recv_max_size=0) as replier:
        address = f"ipc://{place}/bare.sock" if transport == "ipc" else "tcp://127.0.0.1:0"
        listener = replier.listen(address)
        print(address if transport == "ipc" else f"tcp://{listener.local_address}", flush=True)
        while True:
            replier.send(replier.recv())


def nng_caller(transport, place):
    """Return a call by a REQ socket of nng."""
    import pynng

    requester = pynng.Req0(dial=place, block_on_dial=True, recv_max_size=0)

    def call(payload):
        requester.send(payload)
        return requester.recv()

    return call


def http_asgi_server(transport, place):
    """Echo by Starlette on uvicorn for ever."""
    import uvicorn
    import uvloop
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    async def echo(request: Request):
        return Response(await request.body(), media_type="application/octet-stream")

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    application = Starlette(routes=[Route("/echo", echo, methods=["POST"])])
    given = {"host": "127.0.0.1", "port": port, "http": "httptools", "loop": "uvloop"}
    server = uvicorn.Server(uvicorn.Config(application, log_config=None, access_log=False, **given))

    async def serve():
        serving = asyncio.ensure_future(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        print(port, flush=True)
        await serving

    uvloop.run(serve())


SERVERS = {"thrift": thrift_server, "nng": nng_server, "http_asgi": http_asgi_server}
CALLERS = {"thrift": thrift_caller, "nng": nng_caller}
