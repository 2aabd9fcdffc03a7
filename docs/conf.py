"""How Sphinx makes a site of these pages: `make docs`."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
VERSION = re.compile(r'__version__ = "([^"]+)"')

project = "FLEX"
author = "The authors of FLEX"
release = VERSION.findall((HERE.parent / "flex/__init__.py").read_text(encoding="utf-8"))[0]
version = release

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
nitpicky = True

# Headings down to this level can be linked to.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

html_theme = "furo"
html_title = f"FLEX {release}"
html_static_path = ["static"]
html_css_files = ["flex.css"]
# Nothing is loaded from elsewhere, and nobody needs the sources of the pages twice.
html_copy_source = False
html_show_copyright = False
# Two hyphens are two hyphens: options begin so.
smartquotes = False
# Code in the pages is shell, settings and sketches: nothing that one lexer would take.
highlight_language = "none"
