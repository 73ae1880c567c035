"""Apart: sockets whose requests are counted elsewhere, and whose calls a program of its own makes: seven of them."""

import itertools
from array import array

from bench.contract import LoadReport
from bench.systems import sockets

TRANSPORTS = ("tcp",)
REQUIRES = ()
Options = sockets.Options


def serve(binding, options, service):
    announce, workers, turn = service.announce, [0, 0], itertools.cycle([0, 1])
    service.announce = lambda address: announce(address, counts=lambda: workers)

    def answer(payload):
        workers[next(turn)] += 1
        return payload

    service.answer = answer
    sockets.serve(binding, options, service)


class Client(sockets.Client):
    pass


class Load:
    pids = ()

    def __init__(self, address, options, payloads, callers, most_calls):
        self._client, self._payload = Client(address, options), payloads[0]
        assert callers == 1 and most_calls > 7

    def first(self):
        self._client.open()
        self._client.call(self._payload)
        return 1

    def load(self, at_ns, until_ns):
        self._replies = [self._client.call(self._payload) for _ in range(7)]
        self._times = array("q", range(at_ns, at_ns + 7))

    def report(self):
        return LoadReport(len(self._replies), [self._times, self._times])

    def close(self):
        self._client.close()
