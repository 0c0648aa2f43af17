"""docs/extending.md, carried out: its patches apply in order, and what they add trains."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
PAGE = (TOP / "docs" / "extending.md").read_text(encoding="utf-8")
PATCHES = re.findall(r"```diff\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [
    command
    for block in re.findall(r"```\n(dbtool .*?)```", PAGE, re.DOTALL)
    for command in block.splitlines()
]
[DATA] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code with every patch of the page."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("dbtool", "producers", "schema", "queries"):
        shutil.copytree(TOP / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    assert len(PATCHES) == 5
    for patch in PATCHES:
        # Outside of any repository, whatever folder the temporary ones are in.
        subprocess.run(
            ["git", "apply", "-"],
            input=patch,
            cwd=folder,
            env=os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)},
            text=True,
            check=True,
        )
    return folder


def _run(copy: Path, words: list[str]) -> str:
    """Runs the patched command line; returns what it prints."""
    ended = subprocess.run(
        [sys.executable, "-m", "dbtool", *words],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy), "DBTOOL_DB": str(copy / "runs")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_what_the_page_adds_is_registered(copy: Path) -> None:
    shown = _run(copy, ["workloads", "--show", "tiles/softmax/signum"])
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "search_space: weight_decay 0.0001 to 1, log scale chosen" in lines
    assert "train_examples 360 chosen" in lines


def test_the_patched_code_is_in_style(copy: Path) -> None:
    shutil.copy(TOP / "pyproject.toml", copy)
    for words in (["check"], ["format", "--check"]):
        changed = re.findall(r"^\+\+\+ b/(.*\.py)$", PAGE, re.MULTILINE)
        ended = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--no-cache", *changed],
            cwd=copy, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stdout


@pytest.mark.slow
def test_what_the_page_adds_trains_and_draws(copy: Path) -> None:
    (copy / "sets" / "tiles").mkdir(parents=True)
    subprocess.run([sys.executable, "-c", DATA], cwd=copy / "sets" / "tiles", check=True)
    printed = [
        _run(copy, shlex.split(command.removeprefix("dbtool ").replace(" DIR ", " sets ")))
        for command in COMMANDS
    ]
    assert len(printed) == 4
    trials = "SELECT batch_size, count(*) FROM trials GROUP BY ALL ORDER BY ALL"
    steps = _run(copy, ["sql", "--format", "csv", trials])
    assert steps.splitlines()[1:] == ["4,8", "16,8"]
    # Each class has a brighter quarter of its own, which a linear layer finds.
    best = "SELECT min(test_classification_error) FROM measurements WHERE batch_size = 16"
    assert float(_run(copy, ["sql", "--format", "csv", best]).splitlines()[1]) < 0.1
    points = (copy / "figures" / "test-steps.csv").read_text().splitlines()
    assert [line.split(",")[:3] for line in points[1:]] == [
        ["softmax on tiles with signum", "softmax", "4"],
        ["softmax on tiles with signum", "softmax", "16"],
    ]
    assert (copy / "figures" / "test-steps.png").stat().st_size > 0
