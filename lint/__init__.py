"""What `make lint` asks of text, links, notebooks and imports, beside ruff, mypy and import-linter."""
