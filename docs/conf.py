"""Settings of Sphinx for the site; see ``build.py``."""

from callboard.version import __version__

project = "callboard"
release = version = __version__
project_copyright = "the callboard authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
html_theme = "furo"
html_title = f"callboard {__version__}"
html_show_sourcelink = False
autodoc_typehints = "description"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
suppress_warnings = ["ref.python"]  # names such as Callboard are in several packages
pygments_style = "friendly"
pygments_dark_style = "monokai"
