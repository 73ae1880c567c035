"""Load generators under test: the files that describe them, and whether their reports are true."""
