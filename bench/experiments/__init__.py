"""The experiments: a folder for each notebook, and what they share. ``findings`` and ``text`` draw nothing."""
