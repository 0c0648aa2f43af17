"""What the site adds to the pages of docs/: the commands' help and the Python reference."""

import re
from pathlib import Path

import pytest
from command_pages import command_pages
from markdown_it import MarkdownIt
from typer.testing import CliRunner

import dbtool
from dbtool.cli.main import app
from dbtool.database import Database
from producers import own

PAGES = command_pages()
# What the commands are written with.
NOT_FOR_USERS = {"functions", "result"}


def shown(markdown: str) -> str:
    """What a reader sees of a page, without spaces and colons."""
    tokens = [part for token in MarkdownIt().parse(markdown) for part in token.children or [token]]
    return re.sub(r"[\s:]", "", "".join(token.content for token in tokens))


@pytest.mark.parametrize("page", PAGES)
def test_pages_say_what_help_says(page):
    words = page.split("/")[1:]
    help_text = CliRunner().invoke(app, [*words, "--help"], prog_name="dbtool").output
    assert len(help_text) > 200
    title = " ".join(["dbtool", *words])
    assert shown(PAGES[page]) == re.sub(r"[\s:`]", "", title + help_text)


def test_the_reference_has_everything_public():
    reference = Path(__file__).parents[2] / "docs" / "website" / "python.rst"
    listed = set(re.findall(r":: (?:\w+\.)*(\w+)", reference.read_text(encoding="utf-8")))
    methods = {name for name in dir(Database) if not name.startswith("_")} - NOT_FOR_USERS
    assert (methods | {*own.__all__, *dbtool.__all__} - {"__version__"}) - listed == set()
