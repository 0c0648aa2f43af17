"""On a real terminal: narrow tables, no binary rows, bars, Ctrl-C."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.queries import ENDLESS
from tests.support.terminal import run_on_terminal

FULL = Path("/dev/full")
WATCHED = "Ctrl-C stops the query"
WORK = """
import time
from dbtool.cli.messages import bar
with bar("importing", "bytes") as on_progress:
    for done in range(9):
        on_progress(done * 1_000_000, 8_000_000)
        time.sleep({seconds})
print("imported")
"""


WORDS = "SELECT repeat('n', 30) AS name, 'a word and ' || repeat('x ', 40) AS words"
WIDE = "SELECT 1 AS n, repeat('x', 40) AS x, repeat('y', 40) AS y, 2 AS m"
SHARED = "SELECT 'only' AS release, 0.5 AS goal, unnest([1, 2]) AS n, repeat('x', 50) AS x"
NAMES = ["mnist/fc_1024_1024_1024/sgd", "mnist/fc_128_128_128/momentum"]
NAMED = (
    f"SELECT unnest({NAMES * 2}) AS workload, unnest(range(4)) AS n, repeat('x', 30) AS x "
    "ORDER BY ALL"
)
SEPARATOR = "-- next --"
COMMANDS = [
    ["trials", "digits/*", "--limit", "2"],
    *(["sql", query] for query in (WORDS, WIDE, SHARED, NAMED)),
    *(["sql", query, "--wide"] for query in (WIDE, SHARED)),
    ["studies", "--format", "parquet"],
]
Shown = Callable[..., str]


@pytest.fixture(scope="module")
def shown(database: Path) -> Shown:
    """What commands show on a terminal of 60 columns, all of them in one process."""
    program = f"""
from dbtool.cli.main import run
for words in {COMMANDS}:
    print({SEPARATOR!r})
    try:
        run(words)
    except SystemExit as end:
        print(end.code)
"""
    code, text = run_on_terminal(
        [sys.executable, "-c", program], columns=60, environment={"DBTOOL_DB": str(database)}
    )
    assert code == 0, text
    _, *texts = text.replace("\r\n", "\n").split(f"{SEPARATOR}\n")
    outcomes = {
        tuple(words): each.removesuffix("\n").rpartition("\n")
        for words, each in zip(COMMANDS, texts, strict=True)
    }

    def of(*words: str, code: int = 0) -> str:
        printed, _, ended = outcomes[words]
        assert ended == str(code)
        return printed

    return of


def test_table_fits_the_terminal_without_cutting(shown):
    text = shown("trials", "digits/*", "--limit", "2")
    context, empty, names, *_ = text.splitlines()
    # The column that has the same name in all rows is said once.
    assert (context, empty) == ("made-up · digits/simple_cnn_base/sgd", "")
    assert names.split() == ["batch_size", "trial_id", "status", "steps", "learning_rate"]
    assert max(map(len, text.splitlines()[:-1])) <= 60
    assert "…" not in text
    assert "\x1b" not in text


def test_sentences_are_cut_and_names_are_not(shown):
    row = shown("sql", WORDS).splitlines()[2]
    assert row == 30 * "n" + "  a word and " + "x " * 8 + "…"
    assert len(row) == 60


def test_columns_without_room_are_left_out_and_named_and_what_all_rows_share_goes_above(shown):
    names, _, row, left_out = shown("sql", WIDE).splitlines()
    assert names.split() == ["n", "x", "m"]
    assert row.split() == ["1", 40 * "x", "2"]
    assert left_out == "left out for want of room: y; see them with --wide"
    assert shown("sql", WIDE, "--wide").splitlines()[0].split() == ["n", "x", "y", "m"]
    assert shown("sql", SHARED).splitlines()[:3] == ["only · goal 0.5", "", "n  x"]
    names = shown("sql", SHARED, "--wide").splitlines()[0].split()
    assert names == ["release", "goal", "n", "x"]


def test_workloads_stand_above_their_rows_where_there_is_no_room(shown):
    x = 30 * "x"
    assert shown("sql", NAMED).splitlines() == [
        *(f"n  {'x':<30}".rstrip(), f"-  {30 * '-'}"),
        *(NAMES[0], f"0  {x}", f"2  {x}", NAMES[1], f"1  {x}", f"3  {x}"),
    ]


def test_binary_rows_stay_off_a_terminal(shown):
    assert shown("studies", "--format", "parquet", code=2) == (
        "dbtool: --format parquet is not for a terminal; send it to a file with `> rows.parquet`"
    )


def test_a_long_query_is_watched_and_interrupted(database):
    words = [sys.executable, "-m", "dbtool", "sql", ENDLESS, "--db", str(database)]
    code, text = run_on_terminal(words, columns=60, interrupt_at=WATCHED)
    assert code == 130
    assert WATCHED in text
    assert text.rstrip().endswith("dbtool: interrupted")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is full")
@pytest.mark.parametrize("output_format", ["table", "csv", "parquet"])
def test_full_disk_is_one_sentence(database, output_format):
    words = [sys.executable, "-m", "dbtool", "workloads", "--db", str(database)]
    words += ["--format", output_format]
    with FULL.open("wb") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr == b"dbtool: cannot use standard output: No space left on device\n"


@pytest.mark.parametrize(("seconds", "shown"), [(0.3, True), (0.0, False)])
def test_work_that_takes_its_time_shows_a_bar(seconds, shown):
    words = [sys.executable, "-c", WORK.format(seconds=seconds)]
    code, text = run_on_terminal(words, columns=100)
    assert code == 0
    assert ("importing" in text, "MB/s" in text) == (shown, shown)
    assert text.rstrip().endswith("imported")
