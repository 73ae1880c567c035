"""The messages that docs/troubleshooting.md explains are those that the programs print, word for word."""

import re

from conftest import ROOT

OTHERS = {  # printed by the shell, Python, the operating system and Jupyter
    "python: command not found", "No module named bench", "No module named 'bench'", "No such kernel named",
    "Too many open files", "Address already in use", "AF_UNIX path too long",
}  # fmt: skip


def test_each_message_is_in_the_source():
    text = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8").partition("\n## Questions")[0]
    cells = re.findall(r"^\| (.*?) \|", text, re.M)
    messages = [message for cell in cells for message in re.findall(r"`([^`]+)`", cell)]
    files = [ROOT / "Makefile", *(file for room in ("bench", "certify") for file in (ROOT / room).rglob("*.py"))]
    source = "\n".join(file.read_text("utf-8") for file in files).replace("*", "").replace("{BENCH}", ".venv/bin/bench")
    source = re.sub(r'"\s+f?"', "", source)  # a message may be written in several strings
    parts = {part.strip(" :;,?") for message in messages for part in message.split("...")} - {""}
    assert len(messages) > 30 and sorted(part for part in parts - OTHERS if part not in source) == []
