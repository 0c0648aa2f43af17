"""docs/extending.md, carried out: its file trains, its source reads, and its figure is drawn."""

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

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs" / "extending.md").read_text(encoding="utf-8")
[PATCH] = re.findall(r"```diff\n(.*?)```", PAGE, re.DOTALL)
FILE, SOURCE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
*_, ENTRY_POINT = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
*COMMANDS, INGEST, FIGURE = [
    command
    for block in re.findall(r"```\n(dbtool .*?)```", PAGE, re.DOTALL)
    for command in block.splitlines()
]


def run(command: str, folder: Path, code: Path = TOP) -> str:
    """Runs a command of the page in a folder; returns what it prints."""
    ended = ran(command, folder, code)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def ran(command: str, folder: Path, code: Path = TOP) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": _with(code), "DBTOOL_DB": "runs"},
        capture_output=True,
        text=True,
        check=False,
    )


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


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with logs for the source of the page, which is installed."""
    package = tmp_path / "installed"
    (package / "line_logs-1.0.dist-info").mkdir(parents=True)
    (package / "line_logs.py").write_text(SOURCE, encoding="utf-8")
    group, *lines = ENTRY_POINT.replace("project.entry-points.", "").replace('"', "").splitlines()
    information = {
        "METADATA": "Metadata-Version: 2.1\nName: line-logs\nVersion: 1.0\n",
        "entry_points.txt": "\n".join([group, *lines]),
    }
    for name, text in information.items():
        (package / "line_logs-1.0.dist-info" / name).write_text(text, encoding="utf-8")
    others = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(package), others])))
    folder = tmp_path / "work"
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "0.1.log").write_text("step=0 error=0.9\nstep=10 error=0.05\n")
    (folder / "logs" / "0.3.log").write_text("step=0 error=0.9\nstep=5 error=0.4\n")
    return folder


def test_the_source_of_the_page_is_added(logs: Path) -> None:
    for added, there in ((2, 0), (0, 2)):
        expected = f"added {added} trials and {2 * added} measurements to line-logs; {there} trials"
        assert ran(INGEST, logs).stderr.startswith(expected)
    steps = run("dbtool steps digits/mlp/sgd --format csv --columns batch_size,steps", logs)
    assert steps.splitlines()[1:] == ["32,10"]
    # One more run, and one that is malformed.
    (logs / "logs" / "1.log").write_text("step=0 error=0.9\n")
    (logs / "logs" / "2.log").write_text("step=0 loss=0.9\n")
    more = ran(INGEST.replace(" --from", " logs/1.log logs/2.log --from"), logs)
    assert (more.returncode, more.stderr.splitlines()[:2]) == (
        1,
        [
            "left out logs/2.log: it has no 'error'",
            "added 1 trial and 1 measurement to line-logs; 2 trials already there",
        ],
    )
    # A run that has grown.
    (logs / "logs" / "0.1.log").write_text("step=0 error=0.9\n")
    changed = ran(INGEST, logs)
    assert (changed.returncode, "its trial 0 is already there from" in changed.stderr) == (1, True)


def test_the_source_of_the_page_is_previewed_and_named(logs: Path) -> None:
    shown = ran(f"{INGEST} --dry-run", logs)
    assert shown.stderr.startswith("found 2 runs of 1 study with 4 measurements")
    assert not (logs / "runs").exists()
    assert run(f"{INGEST} --release other --db new", logs) == ""
    assert (logs / "new" / "other" / "manifest.json").exists()
    assert "--from csv|jsonl|parquet|lines" in run("dbtool ingest --help", logs)
    for words, sentence in (
        ("--from lines --map m.toml", "--from lines takes no --map"),
        ("--from line", "--from is 'line', and should be one of csv, jsonl, parquet, lines"),
        ("--release x", "--release needs --from csv, jsonl, parquet or lines"),
    ):
        refused = ran(f"dbtool ingest logs/0.1.log {words}", logs)
        assert (refused.returncode, sentence in refused.stderr) == (2, True), refused.stderr


def test_a_source_that_cannot_be_imported_is_one_sentence(logs: Path) -> None:
    (logs.parent / "installed" / "line_logs.py").write_text("import maths\n")
    ended = ran(INGEST, logs)
    assert ended.returncode == 1
    assert ended.stderr == (
        "dbtool: line-logs: ModuleNotFoundError: No module named 'maths'; `pip uninstall "
        "line-logs` goes on without it\n"
    )


@pytest.mark.parametrize("text", [FILE, SOURCE], ids=["workload", "source"])
def test_the_files_of_the_page_are_in_style(text: str, tmp_path: Path) -> None:
    shutil.copy(TOP / "pyproject.toml", tmp_path)
    (tmp_path / "my_file.py").write_text(text, encoding="utf-8")
    for words in (["check"], ["format", "--check"]):
        ended = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--no-cache", "my_file.py"],
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
