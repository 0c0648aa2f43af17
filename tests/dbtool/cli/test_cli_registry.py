"""Every command: listed cheaply, explained, offered to a shell, with an example that parses."""

import inspect
import re
import shlex
from collections.abc import Callable
from typing import Any

import pytest
import typer.main

from dbtool import __version__
from dbtool.cli.main import app
from dbtool.cli.main import dbtool as entry_point
from dbtool.cli.registry import COMMANDS, GROUPS, function_of
from dbtool.figures.specs import FIGURES
from dbtool.sources.ingest import source_names
from producers.workloads.registry import WORKLOADS
from tests.support.commands import Call
from tests.support.explorer import needs_explorer
from tests.support.made_up import DIGITS, LETTERS, write_shard


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


@pytest.fixture
def offered(call: Call, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """What `dbtool` offers to the script of a shell, in order; the line ends at the cursor."""

    def completed(line: str) -> list[str]:
        monkeypatch.setenv("_DBTOOL_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        outcome = call()
        # Nothing may stand on standard error, where a person is typing.
        assert (outcome.code, outcome.errors) == (0, "")
        return outcome.output.split()

    return completed


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dbtool st", ["studies", "steps"]),
        ("dbtool steps --goal 0.1 let", [LETTERS]),
        ("dbtool plot steps --workload ", [DIGITS, LETTERS]),
        ("dbtool steps --release other ", []),
        ("dbtool plot f", [spec.name for spec in FIGURES if spec.name.startswith("f")]),
        ("dbtool sql su", ["summary"]),
        ("dbtool ingest logs --from ten", ["tensorboard"]),
        ("dbtool produce mnist/fc_1024", [name for name in WORKLOADS if "/fc_1024" in name]),
    ],
)
def test_names_are_offered(offered, line, expected):
    assert offered(line) == list(expected)


def test_the_database_named_before_is_read_and_one_that_cannot_be_offers_nothing(
    offered, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_shard(tmp_path / "own", workload="a/b/c", release="mine")
    assert offered("dbtool steps --db ~/own ") == ["a/b/c"]
    monkeypatch.setenv("DBTOOL_DB", str(tmp_path / "own"))
    assert offered("dbtool steps --release ") == ["mine"]
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "manifest.json").write_text("made up")
    for name in ("nowhere", "damaged"):
        assert offered(f"dbtool steps --db ~/{name} ") == []
