"""What a shell is offered, asked as the shells' own completion scripts ask."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from dbtool.figures.specs import FIGURES
from producers.workloads.registry import WORKLOADS
from tests.support.made_up import DIGITS, LETTERS, curve, write_shard

DBTOOL = str(Path(sys.executable).with_name("dbtool"))
TRIAL = (0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5]))


def offered(line: str, **environment: str) -> list[str]:
    """What `dbtool` offers to the script of a shell, in order; the line ends at the cursor."""
    completing = {
        "_DBTOOL_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    done = subprocess.run(
        [DBTOOL],
        env=os.environ | completing | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    # Nothing may stand on standard error, where a person is typing.
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.fixture
def _own(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBTOOL_DB", str(database))


@pytest.mark.usefixtures("_own")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dbtool st", ["studies", "steps"]),
        ("dbtool steps --goal 0.1 let", [LETTERS]),
        ("dbtool plot steps --workload ", [DIGITS, LETTERS]),
        ("dbtool steps --release other ", []),
        ("dbtool plot f", [spec.name for spec in FIGURES if spec.name.startswith("f")]),
        ("dbtool sql su", ["summary"]),
        ("dbtool produce mnist/fc_1024", [name for name in WORKLOADS if "/fc_1024" in name]),
    ],
)
def test_names_are_offered(line: str, expected: Sequence[str]) -> None:
    assert offered(line) == list(expected)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.usefixtures("_own")
def test_bash_itself_completes_with_the_installed_script() -> None:
    # Typer asks the process that started it which shell it is.
    press = """
        eval "$(dbtool --show-completion)"
        COMP_WORDS=(dbtool steps dig) COMP_CWORD=2
        _dbtool_completion dbtool
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", press],
        env=os.environ | {"PATH": f"{Path(DBTOOL).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout.split(), done.stderr) == ([DIGITS], "")


def test_the_database_named_before_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    own = tmp_path / "own"
    write_shard(own, workload="a/b/c", release="mine", trials=[TRIAL])
    assert offered("dbtool steps --db ~/own ") == ["a/b/c"]
    assert offered("dbtool steps --release ", DBTOOL_DB=str(own)) == ["mine"]


def test_what_cannot_be_read_offers_nothing(tmp_path: Path) -> None:
    assert offered("dbtool steps ", DBTOOL_DB=str(tmp_path / "nowhere")) == []
    (tmp_path / "manifest.json").write_text("made up")
    assert offered("dbtool steps ", DBTOOL_DB=str(tmp_path)) == []
