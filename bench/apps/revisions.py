"""Two states of somebody's files: folders as they are on disk, or git revisions, copied into a private folder.

A revision's copy is written by way of an index of its own: the repository, its index and its files stay as they are.
"""

import contextlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.errors import DataError, UsageError
from bench.measurement import revision as hashes
from bench.measurement.validation.sources import names_in
from bench.plan import paths as folders
from bench.process.private_folders import private_folder
from bench.process.sources import Source
from bench.run import stored
from bench.text import listed, one_line, quoted

COPIES = "roundtrip-revision-"  # begins the name of the private folder of a revision's copy
OF_ROUNDTRIP = Path("bench", "systems")  # of a checkout of this project


@dataclass(frozen=True)
class Repository:
    """A git repository: its folder, and where in it the folder lies that was asked about."""

    top: Path
    inside: str

    @classmethod
    def around(cls, folder: Path) -> "Repository | None":
        """Return the repository that a folder is in, or None."""
        output = _git(folder, "rev-parse", "--show-toplevel", "--show-prefix")
        if output is None:
            return None
        top, inside = f"{output}\n".split("\n")[:2]
        return cls(Path(top), inside)

    def commit(self, name: str) -> str | None:
        """Return the commit that a name means, None for an unknown one."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return _git(self.top, *words, own={"GIT_WORK_TREE": "."})  # that of a removed submodule is not there

    def is_dirty(self) -> bool:
        """Return whether tracked files differ from the last commit."""
        return bool(_git(self.top, "status", "--porcelain", "-uno"))

    def write(self, commit: str, folder: Path, index: Path, say: Callable[[str], None]) -> None:
        """Write the files of a commit and of its submodules into a folder, by way of an index; say what is not here."""
        folder.mkdir(parents=True, exist_ok=True)
        own = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(folder)}
        for words in (("read-tree", commit), ("checkout-index", "--all")):
            _git(self.top, *words, must=True, own=own)
        listing = (_git(self.top, "ls-files", "--stage", "-z", must=True, own=own) or "").split("\0")
        for match in filter(None, (re.fullmatch(r"160000 (\w+) 0\t(.+)", entry, re.DOTALL) for entry in listing)):
            part, path = match.groups()
            kept = _git(self.top, "rev-parse", "--git-path", f"modules/{path}", own=own) or ""
            repositories = (Repository(top, "") for top in (self.top / path, self.top / kept) if top.is_dir())
            if repository := next((each for each in repositories if each.commit(part)), None):
                repository.write(part, folder / path, index, say)
            else:
                say(
                    f"The submodule {path} of {commit[:10]} is left out: its commit {part[:10]} is not here; git -C "
                    f"{self.top} submodule update --init --recursive brings it, or git fetch in {path}"
                )


def _git(folder: Path, *words: str, must: bool = False, own: Mapping[str, str] = {}) -> str | None:
    """Return what git prints in a folder, None if it fails.

    DataError if it is not installed, refuses a repository of another user, or fails where it must not.
    """
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, env=os.environ | own)
    except FileNotFoundError:
        raise DataError("git is not installed, so no revision can be read: name two folders, or install git") from None
    if done.returncode and (must or "safe.directory" in done.stderr):
        raise DataError(f"git {words[0]} failed in {folder}: {one_line(done.stderr)}")
    return done.stdout.strip("\n") if done.returncode == 0 else None


def are_meant(base: str, head: str, are_asked: bool) -> bool:
    """Return whether two arguments mean states of files, and not two stored runs.

    They do if one is a folder that is no run, or a revision that is no run. are_asked: whether options were given that
    only these have.
    """
    if are_asked or _folder(base) or _folder(head):
        return True
    others = [name for name in (base, head) if not _is_run(name)]
    repository = Repository.around(Path.cwd()) if others else None
    return repository is not None and any(repository.commit(name) for name in others)


def _folder(name: str) -> Path | None:
    """Return the folder of that name, unless it is a run's."""
    with contextlib.suppress(OSError, ValueError):
        path = Path(name).expanduser()
        if name and path.is_dir() and not (path / "manifest.json").is_file():
            return path.resolve()
    return None


def _is_run(name: str) -> bool:
    try:
        stored.find(name)
    except DataError:
        return False
    return True


@contextlib.contextmanager
def opened(base: str, head: str, paths: Sequence[str], say: Callable[[str], None]) -> Iterator[tuple[Source, Source]]:
    """Yield the two states, and remove afterwards the copies that were made of revisions.

    base, head: each a folder, or a revision of the repository that the other one's folder, or else the current one, is
    in. paths: folders inside them from which the systems import.
    """
    around = _folder(head) or _folder(base) or Path.cwd()
    with private_folder(COPIES, folders.for_sockets()) as copies:
        roots = [_root(name, around, Path(copies, side), say) for side, name in (("base", base), ("head", head))]
        first, second = (_source(name, root, paths, around) for name, root in zip((base, head), roots, strict=True))
        if first.label.rpartition("@")[2] == second.label.rpartition("@")[2]:
            say(
                f"The systems' files of {base} and {head} are equal: if all that they start and import is equal, too, "
                "this measures noise"
            )
        if first.label == second.label:  # which folder a case means, its label alone says
            first, second = replace(first, label=f"base-{first.label}"), replace(second, label=f"head-{second.label}")
        yield first, second


def _root(name: str, around: Path, copy: Path, say: Callable[[str], None]) -> Path:
    """Return the folder that a name means; a revision's files are copied."""
    if folder := _folder(name):
        return folder
    repository = Repository.around(around)
    if repository is None:
        raise UsageError(f"{quoted(name)} is no folder, and {around} is in no git repository: name two folders")
    commit = repository.commit(name)
    if commit is None:
        raise UsageError(
            f"{quoted(name)} is no folder, and no revision of {repository.top}: git branch -a lists its branches; a "
            "shallow clone lacks what git fetch --unshallow brings"
        )
    is_current = commit == repository.commit("HEAD") and repository.is_dirty()
    say(f"{name} is commit {commit[:10]}{', without the uncommitted changes of the folder' * is_current}")
    copy.mkdir()
    repository.write(commit, copy / "files", copy / "index", say)
    root = copy / "files" / repository.inside
    if not root.is_dir():
        raise UsageError(f"revision {name} has no folder {repository.inside}: name one that both revisions have")
    return root


def _source(name: str, root: Path, paths: Sequence[str], around: Path) -> Source:
    """Return the source of a folder, labelled by its name and the hash of what is imported from it."""
    systems = next((folder for folder in (root / OF_ROUNDTRIP, root) if names_in(folder)), None)
    if systems is None:
        raise UsageError(f"{name} holds no service file and no system's file: {_where_they_are(name, around)}")
    imported = [_inside(name, root, path) for path in paths]
    label = re.sub(r"[^\w.+/~^-]+", "-", root.name if _folder(name) else name)[-80:]
    content = hashes.of_folders([systems, *imported])
    return Source(f"{label}@{content[:8]}", str(root), str(systems), tuple(map(str, imported)))


def _where_they_are(name: str, around: Path) -> str:
    """Return what to do about a state without systems: its folder may hold files that it does not have yet."""
    if there := names_in(around):
        return (
            f"{around} holds {listed(there)}, which {name} does not have: commit the file there first, so that both "
            "can be measured (docs/services.md)"
        )
    return "name the folder of your service files (docs/services.md), or of systems in Python (docs/adding-a-system.md)"


def _inside(name: str, root: Path, path: str) -> Path:
    """Return a folder from which systems import; UsageError if it is not there, or would replace this package."""
    folder = (root / path).resolve()
    if not folder.is_dir():
        raise UsageError(f"{name} has no folder {quoted(path)}: --path names one that both have")
    if (folder / "bench").exists():
        raise UsageError(f"--path {quoted(path)} holds a folder bench, which would replace this program: name another")
    return folder


def systems_of(base: Source, head: Source, asked: Sequence[str], say: Callable[[str], None]) -> list[str]:
    """Return the systems to measure: those asked for, or those found in both states.

    Of a checkout of Roundtrip those whose files differ. UsageError for a system that one of both lacks.
    """
    there = {source.label: names_in(Path(source.systems)) for source in (base, head)}
    for name in asked:
        for label, names in there.items():
            if name not in names:
                raise UsageError(f"{label} has no system {quoted(name)}: it has {listed(names)}")
    if asked:
        return list(dict.fromkeys(asked))
    common = sorted(set(there[base.label]) & set(there[head.label]))
    if not common:
        raise UsageError(f"no system is in both: {base.label} has {listed(there[base.label])}, {head.label} others")
    if left_out := sorted({*there[base.label], *there[head.label]} - set(common)):
        say(f"In one of both only, and not measured: {listed(left_out)}")
    if not all(Path(source.systems).parts[-2:] == OF_ROUNDTRIP.parts for source in (base, head)):
        return common
    if changed := [name for name in common if len({_hash(name, source) for source in (base, head)}) > 1]:
        return changed
    raise UsageError("no system's file differs in the two checkouts: name what to measure with --system")


def _hash(name: str, source: Source) -> str:
    return hashes.of_system(name, Path(source.systems))
