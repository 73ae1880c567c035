"""``python -m bench``."""

import sys

if not sys.flags.safe_path:  # a file in the current folder is not taken for a library of the same name
    sys.path.append(sys.path.pop(0))

from bench.apps.cli import main

main()
