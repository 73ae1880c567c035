"""Ways to use the laboratory: the command line, the verbs of notebooks, unattended runs, a page, a class."""
