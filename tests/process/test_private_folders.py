"""Private folders: what a killed process left is deleted by the next, and nothing else."""

import os
import stat
from pathlib import Path

from bench.process.private_folders import private_folder


def test_the_next_one_deletes_what_a_killed_one_left_and_nothing_else(tmp_path):
    left, new, strange, other = (tmp_path / name for name in ("kind-left", "kind-new", "kind-strange", "other"))
    for folder in (left, new, other):
        folder.mkdir()
        (folder / "file").touch()
    strange.symlink_to(other)
    with private_folder("kind-", str(tmp_path)) as used:
        assert stat.S_IMODE(Path(used).stat().st_mode) == 0o700
        for folder in (left, used, other):
            os.utime(folder, (0, 0))
        with private_folder("kind-", str(tmp_path)):
            assert not left.exists() and new.exists() and Path(used).exists() and (other / "file").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"kind-new", "kind-strange", "other"}
