"""docs/first_workload.md and docs/extending.md, carried out: train, read logs, draw a figure."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.dbtool.cli.conftest import Call, Outcome
from tests.support.archives import write_files
from tests.support.documents import blocks
from tests.support.programs import CHECKOUT, run_python
from tests.support.sweeps import fast_start

[PATCH], [SOURCE], (*_, ENTRY_POINT) = (
    [block.text for block in blocks("extending.md", language)]
    for language in ("diff", "python", "toml")
)
[FILE] = [block.text for block in blocks("first_workload.md", "python")]
*COMMANDS, INGEST, FIGURE = [
    command
    for document in ("first_workload.md", "extending.md")
    for block in blocks(document, "")
    for command in block.text.splitlines()
]


def run(command: str, folder: Path, code: Path = CHECKOUT) -> str:
    """Runs a command of the page in a folder; returns what it prints."""
    environment = os.environ | {"PYTHONPATH": str(code), "DBTOOL_DB": "runs"}
    done = run_python("-m", *shlex.split(command), cwd=folder, env=environment, timeout=None)
    assert done.returncode == 0, done.stderr
    return done.stdout


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
def test_the_file_of_the_page_is_listed_trained_and_asked(folder):
    printed = (folder / "printed").read_text(encoding="utf-8")
    _, _, listed, checked = printed.splitlines()[:4]
    name, goal, sizes = re.split("  +", listed)
    assert name == "digits/tanh_64/yogi"
    assert (goal, sizes) == ("val_classification_error < 0.1", "[1, 4, 16, 64, 256]")
    assert checked.startswith("digits/tanh_64/yogi at batch size 16: nothing is odd; ")
    # The SQL of the page prints the digest of the file as it is there.
    assert hashlib.sha256(FILE.encode()).hexdigest() in printed
    trials = (
        "dbtool sql --format csv 'SELECT batch_size, count(*) FROM trials GROUP BY 1 ORDER BY 1'"
    )
    assert run(trials, folder).splitlines()[1:] == ["16,8", "64,8"]
    # The writers of the test digits are others; chance is an error of 0.9.
    best = "dbtool sql --format csv 'SELECT min(test_classification_error) FROM measurements'"
    assert float(run(best, folder).splitlines()[1]) < 0.15


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with logs for the source of the page, which is installed."""
    group, *lines = ENTRY_POINT.replace("project.entry-points.", "").replace('"', "").splitlines()
    package = {
        "line_logs.py": SOURCE,
        "line_logs-1.0.dist-info/METADATA": "Name: line-logs\nVersion: 1.0\n",
        "line_logs-1.0.dist-info/entry_points.txt": "\n".join([group, *lines]),
    }
    monkeypatch.syspath_prepend(write_files(tmp_path / "installed", package))
    runs = {
        "logs/0.1.log": "step=0 error=0.9\nstep=10 error=0.05\n",
        "logs/0.3.log": "step=0 error=0.9\nstep=5 error=0.4\n",
    }
    folder = write_files(tmp_path / "work", runs)
    monkeypatch.chdir(folder)
    yield folder
    sys.modules.pop("line_logs", None)


@pytest.fixture
def ran(call: Call, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Outcome]:
    """Runs a command of the page."""
    monkeypatch.setenv("DBTOOL_DB", "runs")
    return lambda command: call(*shlex.split(command)[1:])


def test_the_source_of_the_page_is_added(logs, ran):
    for added, there in ((2, 0), (0, 2)):
        expected = f"added {added} trials and {2 * added} measurements to line-logs; {there} trials"
        assert ran(INGEST).errors.startswith(expected)
    steps = ran("dbtool steps digits/mlp/sgd --format csv --columns batch_size,steps").output
    assert steps.splitlines()[1:] == ["32,10"]
    # One more run, and some that are malformed.
    (logs / "logs" / "1.log").write_text("step=0 error=0.9\n")
    no_pair = ValueError("dictionary update sequence element #0 has length 1; 2 is required")
    malformed = ("step=0 loss=0.9\n", "step 0\n")
    for number, text in enumerate(malformed, start=2):
        (logs / "logs" / f"{number}.log").write_text(text)
    more = ran(INGEST.replace(" --from", " logs/1.log logs/2.log logs/3.log --from"))
    assert more.code == 1
    assert more.errors.splitlines()[:3] == [
        "left out logs/2.log: it is malformed: KeyError('error')",
        f"left out logs/3.log: it is malformed: {no_pair!r}",
        "added 1 trial and 1 measurement to line-logs; 2 trials already there",
    ]


def test_the_source_of_the_page_is_previewed_and_named(logs, ran):
    shown = ran(f"{INGEST} --dry-run")
    assert shown.errors.startswith("found 2 runs of 1 study with 4 measurements")
    assert not (logs / "runs").exists()
    assert ran(f"{INGEST} --release other --db new").code == 0
    assert (logs / "new" / "other" / "manifest.json").exists()
    for words, sentence in (
        ("--from lines --map m.toml", "--from lines takes no --map"),
        ("--from line", "unknown source 'line'; closest: lines"),
    ):
        assert sentence in ran(f"dbtool ingest logs/0.1.log {words}").sentence(2)


def test_a_source_that_cannot_be_imported_is_one_sentence(logs, ran):
    (logs.parent / "installed" / "line_logs.py").write_text("import maths\n")
    assert ran(INGEST).sentence(1) == (
        "dbtool: line-logs: ModuleNotFoundError: No module named 'maths'; `pip uninstall "
        "line-logs` goes on without it\n"
    )


def test_an_error_in_a_source_is_told_with_its_line(logs, ran):
    file = logs.parent / "installed" / "line_logs.py"
    file.write_text(SOURCE.replace("(LookupError, OSError, ValueError)", "OSError"))
    (logs / "logs" / "0.1.log").write_text("step=0 loss=0.9\n")
    number = next(n for n, line in enumerate(SOURCE.splitlines(), 1) if '["error"]' in line)
    for command in (INGEST, f"{INGEST} --dry-run"):
        assert ran(command).sentence(1) == f"dbtool: {file}, line {number}: KeyError: 'error'\n"


def test_the_files_of_the_page_are_in_style(tmp_path):
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    for number, text in enumerate((FILE, SOURCE)):
        (tmp_path / f"my_file_{number}.py").write_text(text, encoding="utf-8")
    for words in (["check"], ["format", "--check"]):
        done = run_python("-m", "ruff", *words, "--no-cache", ".", cwd=tmp_path)
        assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_figure_that_the_page_adds_is_drawn(folder, tmp_path):
    for name in ("dbtool", "producers", "schema", "queries"):
        shutil.copytree(
            CHECKOUT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__")
        )
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
