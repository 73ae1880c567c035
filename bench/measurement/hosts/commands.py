"""A machine as a host, and the scheduler at which hosts register: both run until Ctrl-C or SIGTERM."""

import asyncio
import contextlib
import getpass
import os
import re
import secrets
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from bench.contract import Address, is_host
from bench.errors import BENCH, SystemFailedError, UsageError
from bench.measurement import certificates, machine, revision
from bench.measurement.hosts import dask_engine
from bench.measurement.hosts.agent import Agent
from bench.measurement.hosts.remote import KEY
from bench.plan import credentials
from bench.plan.hosts import address_of
from bench.process.private_folders import private_folder
from bench.text import one_line, quoted

Say = Callable[[str], None]
REMIND_S = 10.0  # until it is said what may keep a host from its scheduler
PAUSE_S = 1.0  # between a scheduler's end and the next try to register
FOLDER = "roundtrip-host-"  # begins the name of a host's folder
NOWHERE = "127.0.0.1:0"  # for the engine's pages, which are empty


def host(scheduler: str, name: str, listen: str, is_plain_wanted: bool, say: Say) -> None:
    """Let this machine be measured with: register at a scheduler, again whenever it comes back.

    name: "" for this machine's anonymous name. listen: the address at which it is reached, "" for that on the network
    to the scheduler.
    """
    dask_engine.load()
    protocol, far, port = address_of(scheduler)
    security = dask_engine.security(protocol, is_plain_wanted)
    address = listen or dask_engine.local_address(far, port)
    if "/" in address or not is_host(address):
        raise UsageError(
            f"{quoted(address)} is no address of this machine: write a number such as 192.168.1.7, without port"
        )
    scheduler_address = str(Address(protocol, far, port, ""))
    name = name or machine.machine_id()
    if name == "here":
        raise UsageError("here is the conductor's own machine: choose another --name")
    if not re.fullmatch(r"[\w.+-]{1,80}", name):
        raise UsageError(f"{quoted(name)} is no name of a host: write letters, digits, . _ + -")
    if security is None:
        say(dask_engine.exposed(address, getpass.getuser()))
    _run(lambda stop: _host(scheduler_address, name, address, security, say, stop))


async def _host(scheduler_address: str, name: str, address: str, security: Any, say: Say, stop: asyncio.Event) -> None:
    distributed = dask_engine.load()
    facts = {"revision": revision.content(), "python": revision.python(), "process": secrets.token_hex(8)}
    protocol = address_of(scheduler_address)[0]
    with private_folder(FOLDER) as folder:
        while not stop.is_set():
            await take_over(scheduler_address, name, facts["process"], security)
            worker = distributed.Worker(
                scheduler_address,
                name=name,
                nthreads=1,
                memory_limit=0,
                dashboard=False,
                dashboard_address=NOWHERE,
                protocol=protocol,
                host=address,
                security=security,
                local_directory=folder,
                startup_information={KEY: lambda _: facts},
            )
            say(f"host {name}: waiting for the scheduler at {scheduler_address}")
            reminder = asyncio.ensure_future(_remind(say, scheduler_address))
            await _first(asyncio.ensure_future(_started(worker, name)), stop)
            reminder.cancel()
            if not stop.is_set():
                say(f"host {name}: registered, reached at {address}, revision {facts['revision']}; Ctrl-C ends it")
                await _first(asyncio.ensure_future(worker.finished()), stop)
            await asyncio.to_thread(Agent.close_all, "has left: its process bench host or the scheduler has ended")
            with contextlib.suppress(Exception):
                await worker.close(timeout=2, executor_wait=False)
            if not stop.is_set():
                say(f"host {name}: the scheduler has ended, or the connection to it broke")
                await _first(asyncio.ensure_future(asyncio.sleep(PAUSE_S)), stop)


async def _remind(say: Say, scheduler_address: str) -> None:
    """Say after a while what may keep a host from its scheduler."""
    await asyncio.sleep(REMIND_S)
    folder = certificates.folder_of_hosts()
    both = f" Both sides need the same folder of credentials ({folder})" if scheduler_address.startswith("tls") else ""
    say(f"still waiting: does a scheduler listen there, and does a firewall let connections through?{both}")


async def take_over(scheduler_address: str, name: str, process: str, security: Any) -> None:
    """Remove the entry that this process left at a scheduler when its connection broke, if one is there."""
    arguments = security.get_connection_args("worker") if security else {}
    with contextlib.suppress(OSError):  # no scheduler answers: it is waited for
        async with dask_engine.load().rpc(scheduler_address, connection_args=arguments) as scheduler:
            workers = (await scheduler.identity(n_workers=-1))["workers"]
            for address, worker in workers.items():
                if worker["name"] == name and worker.get(KEY, {}).get("process") == process:
                    await scheduler.unregister(address=address, stimulus_id=f"{name} came back")


async def _started(worker: Any, name: str) -> None:
    try:
        await worker
    except Exception as error:
        text, cause = "", error
        while cause is not None:
            text, cause = f"{text} {cause}", cause.__cause__  # type: ignore[assignment]
        if "name taken" in text:
            raise UsageError(
                f"a host called {name} is registered already: choose another --name, or wait 30 s if that host has "
                "lost its power or its network"
            ) from error
        raise SystemFailedError(
            f"the host could not be started ({one_line(text, 300)}): check --listen, and the credentials in "
            f"{certificates.folder_of_hosts()}"
        ) from error


def scheduler(listen: str, is_plain_wanted: bool, say: Say) -> None:
    """Run the scheduler at which hosts register; where there are no credentials for hosts yet, make them."""
    dask_engine.load()
    protocol, address, port = address_of(listen)
    folder = certificates.folder_of_hosts()
    if protocol == "tls" and not folder.exists() and not os.environ.get(credentials.FOLDER):
        certificates.make_folder(folder, [])
        say(f"credentials made: {folder}; copy the folder to every other host, and let nobody else read it")
    security = dask_engine.security(protocol, is_plain_wanted)
    with private_folder("roundtrip-scheduler-") as temporary, dask_engine.files_in(temporary):
        _run(lambda stop: _scheduler(protocol, address, port, security, say, stop))


async def _scheduler(protocol: str, address: str, port: int, security: Any, say: Say, stop: asyncio.Event) -> None:
    distributed = dask_engine.load()
    endpoint = str(Address(protocol, address, port, ""))
    try:
        made = distributed.Scheduler(
            protocol=protocol,
            host=address,
            port=port,
            security=security,
            dashboard=False,
            dashboard_address=NOWHERE,
        )
        await made
    except (OSError, RuntimeError, ValueError) as error:
        cause = error.__cause__ or error
        raise SystemFailedError(
            f"the scheduler cannot listen at {endpoint} ({one_line(str(cause), 200)}): choose another address or end "
            "what holds it"
        ) from error
    plain = " --plain" if security is None else ""
    say(f"scheduler at {made.address}; on each machine: {BENCH} host {made.address}{plain}; Ctrl-C ends it")
    if security is None:
        say(f"{dask_engine.exposed(address, getpass.getuser())}, and on each host as the user who started it")
    await stop.wait()
    with contextlib.suppress(Exception):
        await made.close(timeout=2)


async def _first(work: "asyncio.Future[Any]", stop: asyncio.Event) -> None:
    """Wait for work, or until it is to stop; raise what the work raised."""
    waiting = asyncio.ensure_future(stop.wait())
    await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if work.done():
        work.result()
    else:
        work.cancel()


def _run(work: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> None:
    """Run until the work ends, or Ctrl-C or SIGTERM stop it."""

    async def until_stopped() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await work(stop)

    asyncio.run(until_stopped())
