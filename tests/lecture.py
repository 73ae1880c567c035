"""A notebook as executed, with what a slide has to fit."""

import nbformat

TABLE = "<table><thead><tr><th>a</th></tr></thead><tbody>{}</tbody></table>"
ROWS = "".join(f'<tr><td style="white-space:nowrap">{"a cell of a long row " * 8}{row}</td></tr>' for row in range(18))


def an_executed_notebook(png):
    """Return a notebook with an answer, two pictures, prose and a long table under one heading."""
    outputs = [
        ("text/markdown", "- The answer."), ("image/png", png), ("image/png", png), ("text/html", TABLE.format(ROWS))
    ]  # fmt: skip
    code = nbformat.v4.new_code_cell('bench.answer(run, "rates")', id="answer")
    code.outputs = [nbformat.v4.new_output("display_data", data={kind: value}) for kind, value in outputs]
    heading = nbformat.v4.new_markdown_cell("## Measure\n\nA sentence. " + "More words. " * 20, id="measure")
    return nbformat.v4.new_notebook(cells=[heading, code, nbformat.v4.new_markdown_cell("Long. " * 60, id="behind")])
