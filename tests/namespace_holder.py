"""A process that holds the namespaces of one host: run by ``namespaces``, as root; it ends when its input ends.

Arguments: ``network`` for a network alone, or ``host`` for network, processes, files, name and clock; then the host's
name, its clock's offset in ns, and the file that it finds as /etc/machine-id. It prints ``ready``, or why not. The
process that stays is the first of its namespace of processes: when it ends, the kernel ends all others there.
"""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

NEWTIME, NEWNS, NEWUTS, NEWPID, NEWNET = 0x80, 0x20000, 0x4000000, 0x20000000, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    if libc.unshare(flags):
        raise OSError(ctypes.get_errno(), f"unshare: {os.strerror(ctypes.get_errno())}")


def stay() -> None:
    """Say that all is there, and wait for the end of the input."""
    print("ready", flush=True)
    sys.stdin.read()


def settle(name: str, machine_id: str) -> None:
    """Give the host its own name and processes, and its own identity among files that it shares with the others."""
    os_name = name.encode()
    if libc.sethostname(os_name, len(os_name)):
        raise OSError(ctypes.get_errno(), f"sethostname: {os.strerror(ctypes.get_errno())}")
    for words in (["--make-rprivate", "/"], ["-t", "proc", "proc", "/proc"]):
        subprocess.run(["mount", *words], check=True)
    if Path("/etc/machine-id").exists():
        subprocess.run(["mount", "--bind", machine_id, "/etc/machine-id"], check=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whose parent has ended becomes a child of this process


def main(kind: str, name: str, offset_ns: str, machine_id: str) -> None:
    if kind == "network":
        unshare(NEWNET)
        return stay()
    unshare(NEWNET | NEWNS | NEWUTS | NEWPID | NEWTIME)
    seconds, rest_ns = divmod(int(offset_ns), 10**9)
    Path("/proc/self/timens_offsets").write_text(f"monotonic {seconds} {rest_ns}\n")
    if child := os.fork():
        status = os.waitpid(child, 0)[1]
        sys.exit(os.waitstatus_to_exitcode(status) != 0)
    settle(name, machine_id)
    return stay()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, subprocess.SubprocessError) as error:
        print(error, flush=True)
        sys.exit(1)
