"""``python -m bench``."""

import sys

if not sys.flags.safe_path:  # a file in the current folder is not taken for a library of the same name
    sys.path.append(sys.path.pop(0))

try:
    from bench.apps.cli import main
except ModuleNotFoundError as missing:
    from bench.errors import without_package

    sys.exit(f"bench: {without_package(missing)}")

main()
