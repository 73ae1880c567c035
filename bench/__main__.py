"""``python -m bench``."""

from bench.apps.cli import main

main()
