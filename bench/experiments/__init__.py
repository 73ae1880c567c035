"""The experiments: one file for each notebook, of the same stem, written in the words of ``bench.grammar``."""
