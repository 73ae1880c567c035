"""How the site is built: Sphinx with notebooks, docstrings and Markdown; nothing is fetched from a network."""

project = "Roundtrip"
author = "The Roundtrip authors"
html_title = "Roundtrip"

extensions = ["myst_nb", "sphinx.ext.autodoc"]
exclude_patterns = ["bench", "papermill_params", "sources", "tests"]  # are linked to, as files
highlight_language = "text"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # build.py executes them
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # would come from a network

autodoc_member_order = "bysource"
autodoc_typehints = "signature"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_domain_indices = False
html_show_sphinx = False
html_show_copyright = False
