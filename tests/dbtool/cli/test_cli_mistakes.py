"""What a person does wrong: one sentence, the right exit code, nothing on standard output.

Each file in `mistakes` holds lines such as

    steps digit => 2 unknown workload 'digit' … `dbtool workloads`

with what is typed, the exit code, and parts of the sentence: one for each kind of mistake, of any
command that can make it. The files and folders that they name are those of the fixture `faulty`;
SERVER is the URL of a server of them.
"""

import errno
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

from dbtool.cli.main import failure
from dbtool.core.errors import DbtoolError
from tests.support.archives import LINES, small_study, write_tar
from tests.support.file_server import running
from tests.support.made_up import write_digits, write_letters, write_release
from tests.support.published import flipped
from tests.support.release_server import ReleaseServer

MISTAKES = [
    tuple(line.split(" => "))
    for file in sorted((Path(__file__).parent / "mistakes").glob("*.txt"))
    for line in file.read_text().splitlines()
]
MAPPING = """release = "mine"
files = { run = "run", step = "step" }
workload = { dataset = "a", model = "b", optimizer = "c", metric = "val_classification_error" }
study = { batch_size = 8 }
metrics = { val_classification_error = "error" }
"""
TEXTS = {
    "notes.txt": "made up\n",
    "notes/a.txt": "made up\n",
    "header.csv": "run,step,error\n",
    "steps.csv": "batch_size,steps\n8,50\n16,30\n",
    "curve.csv": "run,step,error\n1,0,0.9\n1,10,0.5\n",
    "map.toml": MAPPING,
    "map_goal.toml": MAPPING.replace('metric = "val', 'goal = "low", metric = "val'),
    "question.sql": "SELECT 1 AS one",
    "plan.toml": 'release = "mine"\n[[sweep]]\nworkloads = ["mnist/fc_64_64_64/sgd"]\n',
}


def shard(release: Path) -> Path:
    return next(release.glob("measurements/*/*/*.parquet"))


def flip(path: Path) -> None:
    path.write_bytes(flipped(path.read_bytes(), path.stat().st_size // 3))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "no_manifest": lambda release: (release / "manifest.json").unlink(),
    "no_json": lambda release: (release / "manifest.json").write_text("made up"),
    "flipped_shard": lambda release: flip(shard(release)),
    "lost_shard": lambda release: shard(release).unlink(),
    "text_shard": lambda release: shard(release).write_text("made up"),
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of sound and faulty files; the release `good` is the one that is read by default."""
    folder = tmp_path_factory.mktemp("faulty")
    for name, text in TEXTS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "empty").mkdir()
    with (folder / "endless.sql").open("wb") as file:
        file.truncate(1 << 40)
    write_letters(write_digits(folder / "good"))
    write_release(folder / "two" / "first", "first", licence="MIT")
    write_release(folder / "two" / "second", "second", licence="MIT")
    for name, damage in DAMAGE.items():
        write_release(folder / name, "damaged", licence="MIT")
        damage(folder / name)
    write_tar(folder / "sound.tar", small_study(LINES))
    write_tar(folder / "other.tar", {"notes.txt": b"hello"})
    cut = write_tar(folder / "cut.tar.bz2", small_study(LINES), "w:bz2")
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    return folder


@pytest.fixture(scope="module")
def before(faulty: Path) -> dict[str, tuple[int, int]]:
    """The files as they are before anybody makes a mistake."""
    return files(faulty)


@pytest.fixture(scope="module")
def server(faulty: Path) -> Iterator[str]:
    with running(ReleaseServer(faulty)) as running_server:
        yield running_server.url.rstrip("/")


@pytest.mark.parametrize(("words", "expected"), MISTAKES, ids=lambda each: str(each)[:60])
def test_mistake_is_one_sentence_and_writes_nothing(
    words, expected, call, faulty, before, server, monkeypatch
):
    monkeypatch.chdir(faulty)
    monkeypatch.setenv("DBTOOL_DB", "good")
    text = words.replace("SERVER", server)
    code, parts = expected.split(" ", 1)
    sentence = call(*shlex.split(text)).sentence(int(code)).replace(server, "SERVER")
    assert all(part in sentence for part in parts.split(" … ")), sentence
    assert files(faulty) == before


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """The sizes and dates of the files in a folder but for locks."""
    found = (path for path in folder.rglob("*") if not path.is_dir() and path.suffix != ".lock")
    return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in found}


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["steps", "\udcff"], ["unknown workload '\\udcff'"]),
        (["sql", "SELECT '\udcff'"], ["the query is not UTF-8 text"]),
        (["sql", "SELECT $x", "-p", "x=\udcff"], ["the value of $x is not UTF-8 text"]),
        (["sql", "SELECT $x", "-p", f"x={'9' * 5_000}"], ["--param x is a number beyond"]),
        (["fetch", "--url", "http://host/\udcff"], ["character"]),
        (["import", ".", "--release", "a\tb"], ["'a\\tb' is not a name"]),
    ],
)
def test_letters_that_no_line_of_a_file_holds(words, parts, call):
    sentence = call(*words).sentence(2)
    assert all(part in sentence for part in parts), sentence


@pytest.mark.parametrize(
    ("text", "end", "reason"),
    [
        (None, " <&-", "Bad file descriptor"),
        (None, " </dev/zero", "it is larger than 8 MB"),
        (b"SELECT '\xff'", "", "it is not UTF-8 text"),
    ],
)
def test_standard_input_that_cannot_be_read(text, end, reason, database):
    words = [sys.executable, "-m", "dbtool", "sql", "-", "--db", str(database)]
    done = subprocess.run(
        ["sh", "-c", f"{shlex.join(words)}{end}"], input=text, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"dbtool: standard input cannot be read: {reason}\n"


def test_a_lack_of_memory_is_not_taken_for_damage():
    error = DbtoolError("data cannot be opened: Out of Memory Error: Failed to allocate block")
    assert failure(error, []) == (1, error.args)
    error.__cause__ = duckdb.OutOfMemoryException("Failed to allocate block: out of memory")
    assert failure(error, [])[1][0].startswith("there is not enough memory: ")


@pytest.mark.parametrize("kibibytes", [200_000, 2_000_000])
def test_a_limit_of_address_space_is_told(kibibytes):
    script = f"ulimit -v {kibibytes}; exec {sys.executable} -m dbtool steps 'mnist/*'"
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("dbtool: there is not enough memory: ")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (RecursionError("too deep"), r"an unexpected error, RecursionError \(too deep\); please"),
        (pl.exceptions.PanicException("a\nb!"), r"an unexpected error, PanicException \(a; b\); "),
        (OSError("no number"), "an unexpected error, OSError"),
        (MemoryError(), "there is not enough memory: "),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "there is not enough memory: "),
        (ImportError("x.so: failed to map segment from shared object"), "there is not enough mem"),
        (duckdb.OutOfMemoryException("Out of Memory Error: Allocation failure"), "there is not en"),
    ],
)
def test_an_error_that_no_code_foresaw_is_one_sentence(error, sentence):
    code, found = failure(error, [])
    assert code == 1
    assert re.match(sentence, found[0])
    if "unexpected" in sentence:
        details = Path(found[0].rpartition(" and ")[2]).read_text()
        assert type(error).__name__ in details
