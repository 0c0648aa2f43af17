"""`dbtool produce` of workloads of the user's own: from files, plans and installed packages."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from tests.dbtool.cli.conftest import Call
from tests.support.own_workload import FILE, NAME
from tests.support.sweeps import (
    assert_same_rows,
    fast_start,
    footer,
    free_port,
    produce,
    shards,
    start_produce,
    statuses,
)

if TYPE_CHECKING:
    from pathlib import Path

LISTED = f"{NAME}  val_classification_error < 0.1  batch sizes 2,4\n"
WORDS = ("--batch-sizes", "4", "--trials", "2", "--steps", "5")
PLAN = f"""
release = "local"
from = "mine.py"

[[sweep]]
workloads = ["{NAME}"]
batch_sizes = [4]
trials = 2
steps = 5
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return fast_start(tmp_path_factory.mktemp("compiled"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.usefixtures("registries_as_before")
def test_the_workloads_of_a_file_are_listed(call: Call, path: Path) -> None:
    ours = call("produce", "--from", str(path), "--list")
    assert (ours.code, ours.output, ours.errors) == (0, LISTED, "")


@pytest.mark.slow
def test_a_plan_trains_what_the_options_train_and_notices_a_changed_file(
    path: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    by_plan, by_words = tmp_path / "by_plan", tmp_path / "by_words"
    planned = ("--plan", tmp_path / "plan.toml", "--out", by_plan)
    for words in (planned, ("--from", path, *WORDS, "--out", by_words)):
        done = produce(*words, **environment)
        assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    assert_same_rows(by_plan, by_words)
    path.write_text(f"{FILE}# More.\n")
    refused = produce(*planned, **environment)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1), refused.stderr
    assert f"was trained with the code of mine.py (sha256 {digest(FILE)[:8]})" in refused.stderr
    both = produce(*planned, "--from", path)
    assert (both.returncode, both.stderr.count("\n")) == (2, 1)
    assert "leave out --from, or --plan" in both.stderr


@pytest.mark.slow
def test_hosts_train_by_the_same_code_or_not_at_all(
    path: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    other = tmp_path / "other" / "mine.py"
    other.parent.mkdir()
    other.write_text(f"{FILE}# More.\n")
    for number, (paths, code) in enumerate((((path, path), 0), ((path, other), 1))):
        address = f"127.0.0.1:{free_port()}"
        hosts = environment | {
            "JAX_COORDINATOR_ADDRESS": address,
            "JAX_COORDINATOR_BIND_ADDRESS": address,
            "JAX_NUM_PROCESSES": "2",
        }
        out = tmp_path / str(number)
        processes = [
            start_produce(
                *("--from", each, *WORDS, "--distributed", "--out", out),
                **hosts | {"JAX_PROCESS_ID": str(process)},
            )
            for process, each in enumerate(paths)
        ]
        errors = [process.communicate(timeout=120)[1] for process in processes]
        assert [process.returncode for process in processes] == [code, code], errors
        told = ["the hosts have different code of the user's own" in each for each in errors]
        assert told == [code == 1] * 2
        assert out.exists() == (code == 0)


def installed(text: str, folder: Path) -> Path:
    """A distribution with an entry point for a module of that text, installed into a folder."""
    target = folder / "installed"
    for name, content in {
        "striped/workloads.py": text,
        "my_stripes-1.5.dist-info/METADATA": "Name: my-stripes\nVersion: 1.5\n",
        "my_stripes-1.5.dist-info/entry_points.txt": (
            "[dbtool.workloads]\nstripes = striped.workloads\n"
        ),
    }.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(content)
    return target


def seeing(folder: Path) -> dict[str, str]:
    """The variables under which Python finds what is installed in a folder, too."""
    others = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), others]))}


@pytest.mark.slow
def test_an_installed_package_brings_its_workloads(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    environment = environment | seeing(installed(FILE, tmp_path))
    assert produce("stripes/*", "--list", **environment).stdout == LISTED
    done = produce("stripes/*", *WORDS, "--out", tmp_path / "out", **environment)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    assert sorted(statuses(tmp_path / "out")) == [0, 1]
    (shard,) = shards(tmp_path / "out")
    expected = {"name": "my-stripes", "sha256": digest(FILE), "version": "1.5"}
    assert footer(shard, "producer")["origin"] == expected
    # A file of the same names may not take its place.
    (tmp_path / "mine.py").write_text(FILE)
    refused = produce("--from", tmp_path / "mine.py", "--list", **environment)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
    assert "mine.py: the model slope is known already; give yours another name" in refused.stderr


def test_an_installed_package_that_fails_is_one_sentence(tmp_path: Path) -> None:
    target = installed(FILE.replace("import math", "import maths"), tmp_path)
    # In a process of its own, as each loads what is installed once.
    done = produce("--list", **seeing(target))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    line = 1 + FILE[: FILE.index("import math")].count("\n")
    assert f"{target}/striped/workloads.py, line {line}: ModuleNotFoundError" in done.stderr
    assert done.stderr.endswith("; `pip uninstall my-stripes` goes on without it\n")
