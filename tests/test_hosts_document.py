"""docs/hosts.md, followed word by word: two machines of namespaces, SSH by a real sshd, mutual TLS, one notebook."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from namespaces import ROOT, bed

from bench.run import stored

pytestmark = pytest.mark.slow

TEXT = (ROOT / "docs" / "hosts.md").read_text("utf-8")
NEEDED = {"/usr/sbin/sshd": "openssh-server", "/usr/bin/ssh": "openssh-client", "/usr/bin/scp": "openssh-client"}


def blocks(heading: str) -> list[str]:
    """Return the blocks of commands below a heading."""
    (section,) = re.findall(rf"(?ms)^## {heading}.*?$(.*?)(?=^## |\Z)", TEXT)
    return re.findall(r"(?ms)^```\n(.*?)^```$", section)


def home(folder: Path) -> Path:
    """Return a user's home with a checkout of this revision, whose notebooks are its own."""
    checkout = folder / "roundtrip"
    checkout.mkdir(parents=True)
    for each in ("bench", ".venv", "data", "docs", "papermill_params", "pyproject.toml", "requirements"):
        (checkout / each).symlink_to(ROOT / each)
    (checkout / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / "latency.ipynb", checkout / "notebooks")
    return folder


def with_ssh(folder: Path, host) -> dict[str, str]:
    """Run sshd on a host, whose root lives in a folder of the test; return the conductor's environment."""
    keys = folder / "keys"
    keys.mkdir()
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name], check=True)
    users = re.sub(r"(?m)^(root:[^:]*:0:0:[^:]*:)[^:]*", rf"\g<1>{folder / 'there'}", Path("/etc/passwd").read_text())
    (keys / "passwd").write_text(users)
    host.run("mount", "--bind", str(keys / "passwd"), "/etc/passwd")
    (keys / "sshd").write_text(
        f"ListenAddress {host.address}\nHostKey {keys}/host\nAuthorizedKeysFile {keys}/user.pub\nStrictModes no\n"
        f"PidFile none\nUsePAM no\nPermitRootLogin prohibit-password\nSubsystem sftp internal-sftp\n"
        f"SetEnv ROUNDTRIP_RUNS={folder}/runs\n"
    )
    host.run("mkdir", "-p", "/run/sshd")
    options = f"UserKnownHostsFile={keys}/known StrictHostKeyChecking=accept-new LogLevel=ERROR".split()
    common = " ".join([f"-F none -i {keys}/user", *(f"-o {each}" for each in options)])
    for name in ("ssh", "scp"):
        (folder / "bin").mkdir(exist_ok=True)
        (folder / "bin" / name).write_text(f'#!/bin/sh\nexec /usr/bin/{name} {common} "$@"\n')
        (folder / "bin" / name).chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{folder}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ROUNDTRIP_RUNS": str(folder / "runs"),
        "ROUNDTRIP_FIGURES": str(folder / "figures"),
        "PYTHONPATH": str(ROOT),
    }


def test_two_machines_step_by_step_and_over_ssh(tmp_path, monkeypatch):
    for program, package in NEEDED.items():
        if not Path(program).exists():
            pytest.skip(f"{program} is not installed: apt-get install {package}")
    _, serve, copy, register, see, measure = blocks("Two machines")
    (over_ssh,) = blocks("Over SSH")
    here, _ = home(tmp_path / "here") / "roundtrip", home(tmp_path / "there")
    monkeypatch.setenv("HOME", str(tmp_path / "here"))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    with bed(0.05) as made, contextlib.ExitStack() as started:
        environment = with_ssh(tmp_path, made.hosts[0])

        def typed(text: str) -> str:
            return text.replace("192.168.1.10", made.conductor.address).replace("192.168.1.11", made.hosts[0].address)

        def run(text: str) -> str:
            words = made.conductor.words(["bash", "-ec", typed(text)], here)
            done = subprocess.run(words, env=environment, text=True, capture_output=True, timeout=200)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout + done.stderr

        def start(text: str, awaited: str) -> subprocess.Popen:
            log = tmp_path / f"{len(list(tmp_path.glob('*.log')))}.log"
            words = made.conductor.words(["bash", "-c", f"exec env {typed(text)}"], here)
            with log.open("wb") as file:
                process = subprocess.Popen(
                    words, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
                )
            started.callback(_end, process)
            until = time.monotonic() + 60
            while awaited not in log.read_text():
                assert process.poll() is None and time.monotonic() < until, log.read_text()
                time.sleep(0.1)
            return process

        sshd = made.hosts[0].popen("/usr/sbin/sshd", "-D", "-e", "-f", str(tmp_path / "keys" / "sshd"))
        started.callback(sshd.wait)
        started.callback(sshd.kill)
        start(serve.strip(), "scheduler at")
        run(copy)
        start(register.splitlines()[0], "registered")
        start(over_ssh.strip(), "registered")
        listed = run(see)
        assert re.search(rf"laptop\s.*{re.escape(made.hosts[0].address)}", listed) and "desk" in listed
        monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path / "runs"))
        run(measure.replace("latency.ipynb out.ipynb", "latency.ipynb out.ipynb -p profile smoke -p system sockets"))
        hosts = stored.Folder(next((tmp_path / "runs").iterdir())).read("hosts").to_pandas()
        assert set(zip(hosts["host"], hosts["role"], strict=True)) == {("desk", "server"), ("laptop", "load")}
        offset = hosts[hosts["host"] == "laptop"].iloc[0]
        assert abs(offset["offset_ns"] - 50_000_000) <= offset["bound_ns"]


def _end(process: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
