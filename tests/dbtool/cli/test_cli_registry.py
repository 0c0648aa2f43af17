"""Every command: listed cheaply, explained, with an example that its own parser takes."""

import inspect
import re
import shlex
from typing import Any

import pytest
import typer.main

from dbtool import __version__
from dbtool.cli.main import app
from dbtool.cli.main import dbtool as entry_point
from dbtool.cli.registry import COMMANDS, GROUPS, function_of
from dbtool.sources.ingest import source_names
from tests.support.explorer import needs_explorer
from tests.support.programs import run_python

HEAVY = {"duckdb", "jax", "matplotlib", "numpy", "polars", "pyarrow", "rich"}


def _docstring(name: str) -> str:
    return inspect.getdoc(function_of(name)) or ""


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_80_columns_describes_all_and_holds_an_example_that_parses(
    name, call, monkeypatch
):
    assert _docstring(name).splitlines()[0] == COMMANDS[name]
    monkeypatch.setenv("COLUMNS", "80")
    outcome = call(name, "--help")
    assert outcome.code == 0
    assert all(len(line) <= 80 for line in outcome.output.splitlines())
    assert not re.search(r"<(str|int|float|path|Path|list\[.*)>", outcome.output)
    assert re.search(rf"Example: dbtool {name}\s", outcome.output)
    [example] = re.findall(r"^Example: (.*?)(?: >.*)?$", _docstring(name), re.MULTILINE)
    words = shlex.split(example)
    assert words[:2] == ["dbtool", name]
    group = typer.main.get_group(app)
    context = group.make_context("dbtool", words[1:])
    command: Any = group.get_command(context, name)
    command.make_context(name, words[2:], parent=context)
    parameters = {each.name: getattr(each, "help", None) for each in command.params}
    assert all(parameters.values()), parameters
    described = re.findall(r"^    (\w+)(?: \(.+?\))?: ", _docstring(name), re.MULTILINE)
    assert set(described) <= set(parameters)


def test_help_of_ingest_lists_every_source(call):
    listed = re.split(r"\W+", call("ingest", "--help").output)
    assert [name for name in source_names() if name not in listed] == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        *(each for each in GROUPS["Read"] if each != "scaling"),
        pytest.param("scaling", marks=pytest.mark.slow),
        pytest.param("plot", marks=pytest.mark.slow),
        pytest.param("explore", marks=[needs_explorer, pytest.mark.slow]),
        pytest.param("export", marks=pytest.mark.slow),
        "cite",
    ],
)
def test_examples_run_on_the_release_that_ships(name, call, tmp_path, monkeypatch):
    monkeypatch.delenv("DBTOOL_DB")
    monkeypatch.chdir(tmp_path)
    text = _docstring(name) if name else inspect.getdoc(entry_point) or ""
    [example] = re.findall(r"^Example: dbtool (.*?)(?: >.*)?$", text, re.MULTILINE)
    outcome = call(*shlex.split(example))
    assert outcome.code == 0, outcome.output
    assert outcome.output or list(tmp_path.iterdir())


def test_listing_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from dbtool.cli.main import run\n"
        "try:\n    run(['--help'])\n"
        "except SystemExit:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    done = run_python("-c", code)
    assert not HEAVY & set(done.stderr.split())
    assert all(f"  {name} " in done.stdout for name in COMMANDS)


def test_help_groups_all_commands_and_explains_their_words(call):
    text = call("--help").output
    assert call().output == text
    assert call("--version").output.split() == ["dbtool", __version__]
    commands, _ = text.split("Words:")
    listed = re.findall(r"^  (\w+)  ", commands, re.MULTILINE)
    assert listed == list(COMMANDS)
    for heading in (*GROUPS, "Words"):
        assert f"\n{heading}:\n" in text
    assert all(len(line) <= 80 for line in text.splitlines())
