"""A server for others to measure: started by hand, at an address that the user names."""

import contextlib
import re
from collections.abc import Callable

from bench import systems
from bench.channel import Count, Counted, Listening
from bench.child.spec import Closed, ServerSpec
from bench.contract import parse_address
from bench.errors import SystemFailedError, UsageError
from bench.measurement import routers
from bench.measurement.child_process import Child, collect, private_directory, stop_all
from bench.plan import parameters
from bench.plan.validation import options_of


def serve(system: str, address: str, options: str, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C (or the server's end, which is an error); then report how many requests were answered."""
    name = parameters.one_name(system, "system", systems.names())
    where = parse_address(address).transport
    if where == "inproc":
        raise UsageError("inproc cannot be reached from another process: serve at tcp://HOST:PORT or ipc:///PATH")
    parameters.names(where, f"transport of {name}", systems.constant(name, "TRANSPORTS"))
    given = options_of(systems.load(name).Options, parameters.mapping(options, "options"), name)
    systems.prepare(name)
    router = routers.start(name, where, given, address) if hasattr(systems.load(name), "route") else None
    spec = ServerSpec(
        system=name,
        transport=where,
        options=given,
        bind=address,
        router=dict(router.addresses) if router else {},
        directory=private_directory(),
        environment=systems.environment(name),
    )
    server = Child(f"{name} server", "bench.child.server", spec)
    behind = [router.child] if router else []
    try:
        (listening,) = collect(Listening, [server], 40, behind)
        where = re.sub(r"//(0\.0\.0\.0|\[::\]):", "//HOST:", listening.address)
        say(f"{name} listens at {listening.address}; measure it with -p system {name} -p target {where}")
        with contextlib.suppress(KeyboardInterrupt):
            collect(Closed, [server], float("inf"), behind)
        server.send(Count())
        (counted,) = collect(Counted, [server], 5)
        say(f"answered {counted.count:,} requests")
    except SystemFailedError as error:
        raise SystemFailedError(
            f"{error}; choose another address, or end the process (or remove the file) that takes it"
        ) from error
    finally:
        stop_all([server, *behind])
