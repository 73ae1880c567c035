"""The recipes for GitHub and GitLab call compare as it wants to be called, and end as it ends."""

import os
import re
import subprocess
from pathlib import Path

import yaml
from conftest import ROOT

import bench
from bench.apps import cli

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


def recipes() -> list[dict]:
    """Return the recipes of the document, for GitHub and for GitLab."""
    text = (ROOT / "docs" / "using.md").read_text("utf-8")
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.S)]


def of_github(inputs: dict[str, str], folder: Path, python: str):
    """Return the action's script, in the folder of the repository, and its variables.

    folder: what a runner has. python: what its installed interpreter does, as a shell's lines.
    """
    values = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | inputs
    _, compare = ACTION["runs"]["steps"]
    variables = {name: _filled(text, values) for name, text in compare["env"].items()}
    program(folder, "python", python)
    variables |= {name: str(folder / name.lower()) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    variables |= {"GITHUB_ACTION_PATH": str(folder), "RUNNER_TEMP": str(folder)}
    return f"cd {_filled(compare['working-directory'], values)}\n{compare['run']}", variables


def program(folder: Path, name: str, lines: str) -> None:
    """Write what is run as a program that `make` installs in a folder."""
    file = folder / ".venv" / "bin" / name
    file.parent.mkdir(parents=True)
    file.write_text(f"#!/bin/sh\n{lines}\n")
    file.chmod(0o755)


def _filled(text: str, inputs: dict[str, str]) -> str:
    known = {f"inputs.{name}": value for name, value in inputs.items()} | {"github.base_ref": "main"}
    for _ in range(2):  # a default holds an expression too
        text = re.sub(r"\$\{\{ (\S+) \}\}", lambda expression: known[expression[1]], text)
    return text


def test_the_inputs_of_the_action_are_what_compare_takes():
    inputs, taken = ACTION["inputs"], cli.compare.params
    arguments = {one.name for one in taken if one.param_type_name == "argument"}
    options = {word.removeprefix("--") for one in taken for word in one.opts if word.startswith("--")}
    elsewhere = {"working-directory", "parameters"}  # where it is called, and -p
    assert arguments <= inputs.keys() and inputs.keys() - elsewhere <= arguments | options
    others = {"json", "write", "fail-if-slower", "counts"}  # outputs, another name, and what takes the rights of root
    assert (arguments | options) - inputs.keys() == others
    _, compare = ACTION["runs"]["steps"]
    names = {f"INPUT_{name.upper().replace('-', '_')}": f"${{{{ inputs.{name} }}}}" for name in inputs}
    names.pop("INPUT_WORKING_DIRECTORY")
    assert compare["env"] == names and "${{" not in compare["run"]
    listed = re.search(r"for option in (.*);", compare["run"])[1].split()
    assert set(listed) == inputs.keys() - elsewhere - arguments
    assert all(one["description"] for one in (*inputs.values(), *ACTION["outputs"].values()))


def test_the_recipe_uses_inputs_and_outputs_that_the_action_has():
    _, compare, comment = recipes()[0]["jobs"]["slower"]["steps"]
    assert compare["uses"] == f"OWNER/roundtrip@v{bench.__version__}"
    assert compare["with"].keys() <= ACTION["inputs"].keys()
    named = re.findall(r"steps\.slower\.outputs\.(\w+)", f"{comment}")
    assert set(named) == {"markdown"} <= ACTION["outputs"].keys()
    assert {one["value"] for one in ACTION["outputs"].values()} == {
        f"${{{{ steps.compare.outputs.{name} }}}}" for name in ACTION["outputs"]
    }


def test_the_action_passes_each_value_as_one_word_and_says_where_the_files_are(tmp_path):
    hostile = 'a\'; echo "$(id)" `id` b'
    inputs = {"head": "-x", "system": "one\n\ntwo three", "at-most": hostile, "parameters": "options {a: 1}\nseed 7"}
    python = 'printf "%s\\n" "$@" > words; printf comment > "$6"; : > "$8"; : > "${10}"; exit 3'
    script, variables = of_github(inputs | {"working-directory": str(tmp_path)}, tmp_path / "runner", python)
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], env=os.environ | variables, cwd=tmp_path)
    assert done.returncode == 3
    words = (tmp_path / "words").read_text().splitlines()
    assert words[:4] == ["-P", "-m", "bench", "compare"] and words[-3:] == ["--", "origin/main", "-x"]
    with cli.compare.make_context("compare", words[4:]) as taken:  # whose options they are
        assert (taken.params["base"], taken.params["head"]) == ("origin/main", "-x")
    assert words[10:-3] == [
        *("--at-most", hostile, "--system", "one", "--system", "two three"),
        *("-p", "options", "{a: 1}", "-p", "seed", "7"),
    ]
    assert Path(variables["GITHUB_STEP_SUMMARY"]).read_text() == "comment"
    outputs = dict(line.split("=", 1) for line in Path(variables["GITHUB_OUTPUT"]).read_text().splitlines())
    assert (
        outputs == {"markdown": words[5], "json": words[7], "junit": words[9]}
        and outputs.keys() == ACTION["outputs"].keys()
    )


def test_the_script_for_gitlab_compares_with_the_base_of_the_merge_request_and_fails_as_that_does(tmp_path):
    recipe = recipes()[1]["slower"]
    program(tmp_path / ".roundtrip", "bench", 'printf "%s\\n" "$@" > words; exit 3')
    (tmp_path / "benchmarks" / "rpc").mkdir(parents=True)
    script, base = "\n".join(recipe["script"][-2:]), "0" * 40
    variables = os.environ | {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base}
    assert subprocess.run(["bash", "-ec", script], cwd=tmp_path, env=variables).returncode == 3
    words = (tmp_path / "benchmarks" / "rpc" / "words").read_text().splitlines()
    assert words[:4] == ["compare", base, ".", "--at-most"]
    with cli.compare.make_context("compare", words[1:]) as taken:  # whose options it has
        written = Path("benchmarks/rpc") / taken.params["files"][0]
    assert str(written) == recipe["artifacts"]["reports"]["junit"]
