"""What Sphinx makes the site and the manual pages with, from what docs/site_pages.py lays out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from pygments.lexers.sql import SqlLexer
from pygments.token import Name, Punctuation

import dbtool
from dbtool.cli.registry import COMMANDS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "dbtool"
version = release = dbtool.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
highlight_language = "none"
smartquotes = False  # they would make one dash of the two before an option

myst_enable_extensions = ["deflist", "html_image"]
myst_heading_anchors = 3

default_role = "py:obj"  # what docstrings have in backticks
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"

html_theme = "furo"
html_title = f"dbtool {release}"
html_show_copyright = html_copy_source = html_use_index = html_domain_indices = False

man_pages = [
    ("commands", "dbtool", "a database of training measurements", "", 1),
    *((f"commands/{name}", f"dbtool-{name}", text, "", 1) for name, text in COMMANDS.items()),
]


class DuckSql(SqlLexer):  # type: ignore[misc]  # it has no types
    """SQL with what DuckDB adds: named parameters, lists and structs."""

    name = "DuckDB"
    tokens: ClassVar = SqlLexer.tokens | {
        "root": [(r"\$\w+", Name.Variable), (r"[{}\[\]]", Punctuation), *SqlLexer.tokens["root"]]
    }


def fit_docstring(
    _app: Sphinx, _kind: str, name: str, _of: object, _options: object, lines: list[str]
) -> None:
    """Links the pages that a docstring names; shows attributes as the arguments that set them."""
    for at, line in enumerate(lines):
        if name.startswith("producers.own.") and line == "Attributes:":
            lines[at] = "Args:"
        lines[at] = re.sub(r"docs/(\w+)\.md", r":doc:`\g<0> </docs/\1>`", lines[at])


def setup(app: Sphinx) -> None:
    """Has Sphinx use them."""
    app.add_lexer("sql", DuckSql)
    # Before napoleon, which reads the sections.
    app.connect("autodoc-process-docstring", fit_docstring, priority=400)
