"""Load generators certified as a user does, but with fewer requests on the way to the front; connections to a front."""

import functools
import socket
from unittest import mock
from urllib.parse import urlsplit

from certify import certificate, path_times


def fewer():
    """Let the way to the front be measured with fewer requests."""
    measured = functools.partial(path_times.measure, requests=path_times.REQUESTS)
    return mock.patch.object(path_times, "measure", measured)


def sections(generator, *scenarios):
    """Return what the certificate of a generator has of each scenario."""
    with fewer():
        scenario_sections = certificate.certify(generator, scenarios, lambda line: None).sections
    for section in scenario_sections:
        print(*section.checks, sep="\n")  # pytest shows it if the test fails
    return scenario_sections


def having(section, *verdicts):
    """Return the names of the checks with one of some verdicts."""
    return {check.name for check in section.checks if check.verdict in verdicts}


def connect(front):
    """Return a connection to a front."""
    address = urlsplit(front.url)
    return socket.create_connection((address.hostname, address.port), timeout=20)
