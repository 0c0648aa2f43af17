"""Commands that write releases are killed at any moment, interrupted, or run out of disk."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from dbtool.release.verify import verify
from tests.replica import published_plans, write_archive
from tests.support.archives import contents, imported
from tests.support.kills import (
    MOST_FILES,
    Undisturbed,
    fill_the_disk_and_repeat,
    interrupt_and_repeat,
    kill_and_repeat,
    python_with_disk,
    wait_for_files,
)
from tests.support.made_up import curve, write_shard
from tests.support.programs import run_python
from tests.support.published import LICENCE, add_release, bytes_of

KILLS = 2


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve studies of six trials in two shards each, 130,000 rows."""
    folder = tmp_path_factory.mktemp("own") / "release"
    rows = curve([0.5 + number / 1e3 for number in range(181)])
    for power in range(12):
        for ids in ((0, 1, 2), (3, 4, 5)):
            trials = [(number, "COMPLETE", {"learning_rate": 0.1}, rows) for number in ids]
            write_shard(folder, batch_size=2**power, trials=trials)
    return folder


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve studies with all their trials, in any order, each stored as soon as it is whole."""
    path: Path = tmp_path_factory.mktemp("archive") / "made-up.tar.bz2"
    plans = published_plans(1.0, evaluations=40, odd=True)[:12]
    write_archive(path, studies=plans, layout="tar.bz2", order="shuffled")
    return path


def is_sound(folder: Path) -> None:
    """What is listed is whole; a kill may leave a whole shard that is not listed."""
    for problem in verify(folder).problems:
        assert "list it with `dbtool index" in str(problem) or "rows are not those" in str(problem)


@pytest.fixture(scope="module")
def ingest(own: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed") / "all"
    add_release(own, folder / "made-up")
    return Undisturbed(("ingest", str(own)), bytes_of, bytes_of(folder))


@pytest.fixture(scope="module")
def import_(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed") / "all"
    imported(archive, folder / "published")
    return Undisturbed(("import", str(archive)), contents, contents(folder))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("command", ["ingest", "import_"])
def test_killed_adding_goes_on(tmp_path, request, command, seed):
    undisturbed = request.getfixturevalue(command)
    kill_and_repeat(undisturbed, tmp_path / "all", KILLS, seed, is_sound)
    assert not list(tmp_path.glob(".dbtool-import-*"))


def test_ctrl_c_ends_adding_in_one_line(tmp_path, ingest):
    interrupt_and_repeat(ingest, tmp_path / "all")


OUTS = {"publish": "out", "parquet": "out.parquet", "original": "out.tar.gz"}


def writing(name: str, own: Path, folder: Path) -> tuple[list[str], Path]:
    """A command that writes a file or folder, and what it writes."""
    out = folder / OUTS[name]
    publish = ["publish", str(own), "--licence", LICENCE]
    words = publish if name == "publish" else ["export", "--db", str(own)]
    return [sys.executable, "-m", "dbtool", *words, "--out", str(out)], out


def contents_of(out: Path) -> dict[str, bytes] | None:
    """What is the same each time: the bytes of a release."""
    return bytes_of(out) if out.is_dir() else None


@pytest.mark.slow
@pytest.mark.parametrize("name", OUTS)
def test_what_a_killed_command_left_goes_with_the_next(own, tmp_path, name):
    words, out = writing(name, own, tmp_path)
    subprocess.run(words, check=True)
    expected = contents_of(out)
    chance = random.Random(name)
    struck = False
    while not struck:
        subprocess.run(["rm", "-rf", str(out)], check=True)
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            wait_for_files(process, tmp_path, 1 if out.suffix else chance.randint(1, MOST_FILES))
            process.kill()
        struck = not out.exists()
        # Where it was done before the kill, it is whole.
        assert struck or contents_of(out) == expected
    subprocess.run(words, check=True)
    assert list(tmp_path.iterdir()) == [out]
    assert contents_of(out) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", OUTS)
def test_a_full_disk_is_one_sentence_and_leaves_nothing(own, tmp_path, name):
    words, _ = writing(name, own, tmp_path)
    done = run_python(*python_with_disk(30_000)[1:], *words[1:])
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "free some space or " in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_full_disk_ends_adding_in_one_sentence(tmp_path, ingest):
    fill_the_disk_and_repeat(ingest, tmp_path / "all", is_sound, most_bytes=1000)
