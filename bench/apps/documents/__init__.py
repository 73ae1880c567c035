"""The parts of README.md and docs/ that quote measured numbers: written from the reference runs by one command."""
