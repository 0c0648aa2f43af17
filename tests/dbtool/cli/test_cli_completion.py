"""What a shell is offered, asked as the shells' own completion scripts ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs
import pytest
from support.made_up import curve, write_shard

from dbtool.figures.specs import FIGURES
from dbtool.release.manifest import read_manifest
from dbtool.resources import bundled_release
from dbtool.store.database import open_for_writing
from dbtool.store.ingest import ingest
from producers.workloads.registry import WORKLOADS

from .conftest import DIGITS, LETTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

DBTOOL = str(Path(sys.executable).with_name("dbtool"))
HELD = [DIGITS, LETTERS]
TRIAL = (0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5]))


def ask(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `dbtool` answers to the script of a shell; the line ends where the cursor is."""
    words = line.split(" ")
    asked = {
        "_DBTOOL_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    return subprocess.run(
        [DBTOOL], env=os.environ | asked | environment, capture_output=True, text=True, check=False
    )


def offered(line: str, **environment: str) -> list[str]:
    """The words offered, in order; nothing may be said on standard error."""
    answer = ask(line, **environment)
    assert (answer.returncode, answer.stderr) == (0, "")
    return answer.stdout.split()


@pytest.fixture
def _own(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBTOOL_DB", str(database))


@pytest.mark.usefixtures("_own")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dbtool steps ", HELD),
        ("dbtool steps dig", [DIGITS]),
        ("dbtool steps digits/simple", [DIGITS]),
        ("dbtool steps none", []),
        ("dbtool steps --goal 0.1 let", [LETTERS]),
        ("dbtool trials digits/* let", [LETTERS]),
        ("dbtool studies dig", [DIGITS]),
        ("dbtool plot steps --workload ", HELD),
        ("dbtool steps --release ", ["made-up"]),
        ("dbtool steps --release made-up ", HELD),
        ("dbtool steps --release other ", []),
        ("dbtool cite --release m", ["made-up"]),
        ("dbtool plot f", [spec.name for spec in FIGURES if spec.name.startswith("f")]),
        ("dbtool plot al", ["all"]),
        ("dbtool produce mnist/fc_1024", [name for name in WORKLOADS if "/fc_1024" in name]),
    ],
)
def test_names_are_offered(line: str, expected: Sequence[str]) -> None:
    assert offered(line) == list(expected)


@pytest.mark.usefixtures("_own")
@pytest.mark.parametrize("shell", ["zsh", "fish", "powershell"])
def test_every_shell_is_offered_names(shell: str) -> None:
    variables = {"_DBTOOL_COMPLETE": f"complete_{shell}"}
    if shell == "powershell":
        variables["_TYPER_COMPLETE_WORD_TO_COMPLETE"] = "dig"
    answer = ask("dbtool steps dig", **variables)
    assert answer.stderr == ""
    assert DIGITS in answer.stdout
    assert LETTERS not in answer.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.usefixtures("_own")
def test_bash_itself_completes_with_the_installed_script() -> None:
    script = subprocess.run(
        [DBTOOL, "--show-completion", "bash"], capture_output=True, text=True, check=True
    ).stdout
    press = """
        COMP_WORDS=(dbtool steps dig) COMP_CWORD=2
        _dbtool_completion dbtool
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", script + press],
        env=os.environ | {"PATH": f"{Path(DBTOOL).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout.split(), done.stderr) == ([DIGITS], "")


def test_the_database_named_before_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = write_shard(tmp_path / "shards", workload="a/b/c", release="own", trials=[TRIAL])
    with open_for_writing(tmp_path / "own.duckdb") as connection:
        ingest(connection, [path])
    assert offered(f"dbtool steps --db {tmp_path}/own.duckdb ") == ["a/b/c"]
    assert offered("dbtool steps --db ~/own.duckdb ") == ["a/b/c"]
    assert offered("dbtool steps --release ", DBTOOL_DB=f"{tmp_path}/own.duckdb") == ["own"]


def test_the_bundled_release_is_not_loaded_for_it() -> None:
    manifest = read_manifest(bundled_release())
    workloads = sorted({file.workload for file in manifest.files})
    assert offered("dbtool steps ") == workloads
    assert offered("dbtool steps --release ") == [manifest.release]
    assert offered(f"dbtool steps --release {manifest.release} ") == workloads
    assert offered("dbtool steps --release other ") == []
    assert not platformdirs.user_cache_path("dbtool").exists()


def test_what_cannot_be_read_offers_nothing(database: Path, tmp_path: Path) -> None:
    assert offered("dbtool steps ", DBTOOL_DB=str(tmp_path / "nowhere")) == []
    (tmp_path / "text.duckdb").write_text("made up")
    assert offered("dbtool steps ", DBTOOL_DB=str(tmp_path / "text.duckdb")) == []
    assert offered("dbtool steps ", DBTOOL_DB=str(tmp_path)) == []
    busy = shutil.copy(database, tmp_path / "busy.duckdb")
    with open_for_writing(Path(busy)):
        assert offered("dbtool steps ", DBTOOL_DB=str(busy)) == []
    assert offered("dbtool steps ", DBTOOL_DB=str(busy)) == HELD
