"""What a shell is offered, asked as the shells' own completion scripts ask."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dbtool.figures.specs import FIGURES
from producers.workloads.registry import WORKLOADS
from tests.support.commands import Call
from tests.support.made_up import DIGITS, LETTERS, curve, write_shard

TRIAL = (0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5]))


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


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_itself_completes_with_the_installed_script(database):
    # Typer asks the process that started it which shell it is.
    press = """
        eval "$(dbtool --show-completion)"
        COMP_WORDS=(dbtool steps dig) COMP_CWORD=2
        _dbtool_completion dbtool
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "DBTOOL_DB": str(database)}
    words = ["bash", "--norc", "-c", press]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == ([DIGITS], "")


def test_the_database_named_before_is_read(offered, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_shard(tmp_path / "own", workload="a/b/c", release="mine", trials=[TRIAL])
    assert offered("dbtool steps --db ~/own ") == ["a/b/c"]
    monkeypatch.setenv("DBTOOL_DB", str(tmp_path / "own"))
    assert offered("dbtool steps --release ") == ["mine"]


def test_what_cannot_be_read_offers_nothing(offered, tmp_path, monkeypatch):
    (tmp_path / "manifest.json").write_text("made up")
    for path in (tmp_path / "nowhere", tmp_path):
        monkeypatch.setenv("DBTOOL_DB", str(path))
        assert offered("dbtool steps ") == []
