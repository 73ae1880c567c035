"""A scheduler and hosts as processes of this machine, on loopback: what a user starts on several machines."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
BENCH = ("-m", "bench")


class Started:
    """``python -m bench WORDS``, and what it prints."""

    def __init__(
        self,
        *words: str,
        variables: dict[str, str] | None = None,
        before: tuple[str, ...] = (),
        program: tuple[str, ...] = BENCH,
    ) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        command = [*before, sys.executable, "-P", *program, *words]
        options = {"stdout": self._log, "stderr": self._log, "cwd": ROOT, "env": os.environ | (variables or {})}
        self.process = subprocess.Popen(command, start_new_session=True, **options)

    @classmethod
    def of_code(cls, code: str) -> "Started":
        """Start an interpreter that runs some lines."""
        return cls(program=("-c", code))

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def output(self) -> str:
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode()

    def wait_for(self, pattern: str, times: int = 1, seconds: float = 100) -> str:
        """Return the last line in which a pattern occurs, once it occurred so many times."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            lines = [line for line in self.output.splitlines() if re.search(pattern, line)]
            if len(lines) >= times:
                return lines[-1]
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"{pattern!r} was not printed: {self.output}")

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; return the exit status."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)
            os.kill(self.pid, number)
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        return status

    def close(self) -> None:
        """End it by force."""
        self.end(signal.SIGKILL)
        self._log.close()


class Hosts:
    """A scheduler and its hosts; all are ended at the end."""

    def __init__(self, *names: str, protocol: str = "tls", variables: dict[str, str] | None = None) -> None:
        self.variables = variables or {}
        self.plain = ("--plain",) if protocol == "tcp" else ()
        words = ("scheduler", "--listen", f"{protocol}://127.0.0.1:0", *self.plain)
        self.scheduler = Started(*words, variables=self.variables)
        self.hosts: dict[str, Started] = {}
        try:
            self.address = self.scheduler.wait_for("scheduler at ").split()[2].rstrip(";")
            for name in names:
                self.start(name)
            for one in self.hosts.values():
                one.wait_for("registered")
        except BaseException:
            self.close()
            raise

    def start(self, name: str, *words: str, before: tuple[str, ...] = ()) -> Started:
        """Start a host."""
        words = ("host", self.address, "--name", name, *self.plain, *words)
        self.hosts[name] = Started(*words, variables=self.variables, before=before)
        return self.hosts[name]

    @property
    def asked(self) -> dict[str, str]:
        """Return ``Case.hosts`` for them."""
        return {"scheduler": self.address}

    def close(self) -> None:
        for one in (*self.hosts.values(), self.scheduler):
            one.close()


INTRUDER = """
import asyncio, os, sys
import distributed
os.setuid(65534)
address = sys.argv[1]

async def asked(where, security):
    arguments = security.get_connection_args("client") if security else {}
    async with distributed.rpc(where, connection_args=arguments, timeout=3) as scheduler:
        return await asyncio.wait_for(scheduler.identity(), 5)

for security in (None, distributed.Security.temporary()):
    for where in (address, address.replace("tls", "tcp")):
        try:
            asyncio.run(asked(where, security))
        except Exception as error:
            print("refused", type(error).__name__)
        else:
            print("entered", distributed.Client(where).submit(os.getuid).result(20), flush=True)
            os._exit(0)
"""


def intruded(address: str) -> str:
    """Return what another user of this machine says who gives orders to a scheduler, four ways; needs root."""
    intruder = Started(address, program=("-c", INTRUDER))
    try:
        assert intruder.process.wait(90) == 0, intruder.output
        return intruder.output
    finally:
        intruder.close()
