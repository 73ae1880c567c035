"""The page that ``make app`` serves: to who has its URL, which holds a token, and under this machine's names."""

import http.client
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from conftest import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture
def url(tmp_path):
    """Yield the URL that ``make app`` prints."""
    words = ["make", "--no-print-directory", "app", "READY=", f"BIN={Path(sys.executable).parent}"]
    own = {name: str(tmp_path) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(words, cwd=ROOT, env=os.environ | own, process_group=0, **pipes) as server:
        try:
            said = (re.search(r"http://\S+", line) for line in server.stdout)
            yield next(found[0] for found in said if found)
        finally:
            os.killpg(server.pid, 15)
            server.stdout.read()


def status(url, path, **headers):
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Location", "")
    finally:
        connection.close()


def test_the_page_asks_for_a_token_and_refuses_foreign_hosts(url):
    token = re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=(\w{40,})", url)[1]
    assert status(url, "/")[0] == 302 and "/login" in status(url, "/")[1]
    assert status(url, f"/?token={'0' * len(token)}")[0] == 302
    for path in ("/login", f"/?token={token}"):
        assert status(url, path, Host="evil.example")[0] == 403
        assert status(url, path, Host=f"evil.example:{urlsplit(url).port}")[0] == 403
    assert status(url, "/login", Host="localhost")[0] == 200
