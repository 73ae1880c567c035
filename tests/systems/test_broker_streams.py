"""One-way streams through brokers that hold no sender up: reports do, nothing is lost, errors are sentences."""

import asyncio
import contextlib
import secrets
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import systems
from bench.child.caller import translating
from bench.contract import Binding, parse_address
from bench.errors import TransportError
from bench.plan.case import Case
from bench.plan.replies import END
from bench.systems import _broker, _broker_ends

pytestmark = pytest.mark.slow

AHEAD = 100  # messages
CAREFUL = [
    ("mqtt", {"qos": 1}),
    ("mqtt", {"qos": 2}),
    ("rabbitmq", {"acknowledge": True, "prefetch": 10, "confirms": True}),
    ("rabbitmq", {"queue": "quorum", "acknowledge": True, "confirms": True}),
    ("nats", {"jetstream": True}),
]
ENDS = [(name, {}) for name in ("nats", "mqtt", "rabbitmq")] + CAREFUL


@pytest.fixture
def binding(request, routers, tmp_path, monkeypatch):
    """Return the system's module, its options and a binding at the broker that all tests share, under a new name."""
    own = f"{_broker.SERVICE}.{secrets.token_hex(4)}"
    monkeypatch.setattr(_broker, "name_of", lambda _: own)
    name, options = request.param
    module = systems.load(name)
    addresses = routers.router_of(Case(name, "tcp", options=options)).addresses
    return module, module.Options(**options), Binding("tcp", str(tmp_path), None, addresses)


@contextlib.asynccontextmanager
async def connected(module, options, binding):
    receiver = module.Receiver(binding, options)
    await receiver.open()
    sender = module.Sender(receiver.address, options)
    await sender.open()
    try:
        yield sender, receiver
    finally:
        await sender.close()
        await receiver.close()


@pytest.mark.parametrize("binding", ENDS, indirect=True, ids=str)
def test_a_slow_receiver_holds_the_sender_up_and_loses_nothing(binding, monkeypatch):
    monkeypatch.setattr(_broker_ends, "AHEAD_MESSAGES", AHEAD)
    messages = [b"%d" % number for number in range(3 * AHEAD)]

    async def check():
        async with connected(*binding) as (sender, receiver):
            sent = []

            async def send():
                for message in [*messages, END]:
                    await sender.send(message)
                    sent.append(message)

            sending = asyncio.create_task(send())
            received = [await receiver.receive()]
            async with asyncio.timeout(30):
                while len(sent) < AHEAD - 1:  # the next one is sent, and waits for a report
                    await asyncio.sleep(0.01)
            await asyncio.wait([sending], timeout=0.2)
            assert len(sent) == AHEAD - 1
            while message := await receiver.receive():
                received.append(message)
                assert len(sent) - len(received) <= AHEAD
            await asyncio.wait_for(sending, 10)
            assert received == messages

    asyncio.run(check())


@pytest.mark.parametrize("binding", ENDS[:3], indirect=True, ids=str)
def test_a_sender_whose_receiver_does_not_read_gives_up_in_a_sentence(binding, monkeypatch):
    monkeypatch.setattr(_broker, "WAIT_S", 0.3)

    async def check():
        async with connected(*binding) as (sender, _):
            with pytest.raises(TransportError, match=r"\b0 of 1 "):
                await sender.send(b"x")

    asyncio.run(check())


QUORUM = {"queue": "quorum", "acknowledge": True, "confirms": True}


@pytest.mark.parametrize("binding", [("rabbitmq", QUORUM)], indirect=True, ids=str)
def test_a_message_whose_reader_dies_is_delivered_again_by_a_quorum_queue(binding):
    async def check():
        async with connected(*binding) as (sender, receiver):
            await sender.publish(sender.name, b"one")
            assert await asyncio.wait_for(receiver._next(), 10) == b"one"
            await receiver.close()  # it has acknowledged nothing
            module, options, address = binding
            another = module.Receiver(address, options)
            await another.open()
            assert await asyncio.wait_for(another._next(), 10) == b"one"
            await another.close()

    asyncio.run(check())


@contextlib.asynccontextmanager
async def relayed(binding):
    """Yield a binding whose broker is reached through a relay, and a function that cuts all its connections."""
    broker_address, links = parse_address(binding.router["tcp"]), []

    async def pipe(reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def relay(reader, writer):
        there = await asyncio.open_connection(broker_address.host, broker_address.port)
        links.extend([writer, there[1]])
        await asyncio.gather(pipe(reader, there[1]), pipe(there[0], writer), return_exceptions=True)

    async with await asyncio.start_server(relay, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        router = {**binding.router, "tcp": f"tcp://127.0.0.1:{port}"}
        yield replace(binding, router=router), lambda: [one.close() for one in links]


@pytest.mark.parametrize("binding", ENDS[:3], indirect=True, ids=str)
def test_both_ends_notice_a_connection_that_is_lost(binding, monkeypatch):
    monkeypatch.setattr(_broker, "WAIT_S", 0.5)
    module, options, binding = binding

    async def check():
        async with relayed(binding) as (relay, cut), connected(module, options, relay) as (sender, receiver):
            first = asyncio.create_task(sender.send(b"x"))
            assert await receiver.receive() == b"x"
            await first
            waiting, sending = asyncio.create_task(receiver.receive()), asyncio.create_task(sender.send(END))
            cut()
            with pytest.raises(TransportError), translating(receiver):
                await asyncio.wait_for(waiting, 10)
            with pytest.raises(TransportError), translating(sender):
                await asyncio.wait_for(sending, 10)

    asyncio.run(check())


class Sized:
    """A payload of a size, without its bytes."""

    def __init__(self, size):
        self._size = size

    def __len__(self):
        return self._size


@given(st.integers(1, 10_000_000), st.lists(st.booleans(), max_size=300))
def test_a_sender_is_never_further_ahead_than_it_may_be(size, turns):
    async def check():
        ahead, sent, read, waiting = _broker_ends.Ahead(), 0, 0, None

        async def report(count):
            ahead.reported(count)

        behind, payload = _broker_ends.Behind(report), Sized(size)
        for is_sending in turns:
            if waiting is None and is_sending:
                waiting = asyncio.ensure_future(ahead.sent(payload))
                sent += 1
            elif read < sent:
                await behind.took(payload)
                read += 1
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if waiting and waiting.done():
                waiting = await waiting
            assert sent - read <= _broker_ends.most_ahead(size)
            assert waiting is None or read < sent  # who waits is waiting for messages that are still to be read
        if waiting:
            waiting.cancel()

    asyncio.run(check())
