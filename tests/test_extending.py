"""docs/extending.md, carried out: its file trains as it stands there, and its figure is drawn."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dbtool.core.shards import read_footer
from tests.support.sweeps import fast_start, shards

TOP = Path(__file__).parents[1]
PAGE = (TOP / "docs" / "extending.md").read_text(encoding="utf-8")
[PATCH] = re.findall(r"```diff\n(.*?)```", PAGE, re.DOTALL)
[FILE] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
*COMMANDS, FIGURE = [
    command
    for block in re.findall(r"```\n(dbtool .*?)```", PAGE, re.DOTALL)
    for command in block.splitlines()
]


def run(command: str, folder: Path, code: Path = TOP) -> str:
    """Runs a command of the page in a folder; returns what it prints."""
    ended = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": _with(code), "DBTOOL_DB": "runs"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _with(code: Path) -> str:
    return os.pathsep.join(filter(None, [str(code), os.environ.get("PYTHONPATH")]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the file of the page, in which its commands were run."""
    folder: Path = tmp_path_factory.mktemp("own")
    (folder / "my_workload.py").write_text(FILE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in fast_start(folder / "compiled").items():
            patch.setenv(name, value)
        printed = [run(command, folder) for command in COMMANDS]
    (folder / "printed").write_text("".join(printed), encoding="utf-8")
    return folder


@pytest.mark.slow
def test_the_file_of_the_page_is_listed_trained_and_asked(folder: Path) -> None:
    printed = (folder / "printed").read_text(encoding="utf-8")
    listed = "digits/tanh_64/yogi  val_classification_error < 0.1  batch sizes 1,4,16,64,256\n"
    assert printed.startswith(listed)
    # The SQL of the page prints the digest of the file as it is there.
    assert hashlib.sha256(FILE.encode()).hexdigest() in printed
    trials = (
        "dbtool sql --format csv 'SELECT batch_size, count(*) FROM trials GROUP BY 1 ORDER BY 1'"
    )
    assert run(trials, folder).splitlines()[1:] == ["16,8", "64,8"]
    # The writers of the test digits are others; chance is an error of 0.9.
    best = "dbtool sql --format csv 'SELECT min(test_classification_error) FROM measurements'"
    assert float(run(best, folder).splitlines()[1]) < 0.15


@pytest.mark.slow
def test_every_shard_leads_back_to_the_file(folder: Path) -> None:
    digest = hashlib.sha256(FILE.encode()).hexdigest()
    for path in shards(folder / "runs"):
        found = read_footer(path)
        expected = {"name": "my_workload.py", "sha256": digest, "version": None}
        assert found.producer["origin"] == expected
        assert found.study.workload.definition is not None
        assert found.study.workload.definition["origin"] == expected
        assert found.study.workload.definition["paper"] is None


def test_the_file_of_the_page_is_in_style(tmp_path: Path) -> None:
    shutil.copy(TOP / "pyproject.toml", tmp_path)
    (tmp_path / "my_workload.py").write_text(FILE, encoding="utf-8")
    for words in (["check"], ["format", "--check"]):
        ended = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--no-cache", "my_workload.py"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stdout


@pytest.mark.slow
def test_the_figure_that_the_page_adds_is_drawn(folder: Path, tmp_path: Path) -> None:
    for name in ("dbtool", "producers", "schema", "queries"):
        shutil.copytree(TOP / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(
        ["git", "apply", "-"],
        input=PATCH,
        cwd=tmp_path,
        # Outside of any repository, whatever folder the temporary ones are in.
        env=os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)},
        text=True,
        check=True,
    )
    run(FIGURE, folder, tmp_path)
    points = (folder / "figures" / "test-steps.csv").read_text().splitlines()
    assert [line.split(",")[:3] for line in points[1:]] == [
        ["tanh_64 on digits with yogi", "tanh_64", "16"],
        ["tanh_64 on digits with yogi", "tanh_64", "64"],
    ]
    assert (folder / "figures" / "test-steps.png").stat().st_size > 0
