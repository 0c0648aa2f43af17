"""What dbtool.open answers, against numbers worked out by hand."""

import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import dbtool
from tests.support.made_up import DIGITS, LETTERS
from tests.support.programs import run_python
from tests.support.queries import ENDLESS

# A frame that was not read to its end holds on to what reads it, as it may in a notebook.
NOT_TO_THE_END = """
import gc, sys, dbtool
gc.disable()
db = dbtool.open(sys.argv[1])
frames = iter(db.measurements().collect_batches(chunk_size=1))
print(next(frames).height > 0)
db.close()
with dbtool.open(sys.argv[1]) as again:
    print(again.sql("SELECT 1").rows())
"""


def test_steps_to_result(db):
    found = db.steps(DIGITS, release="first")
    # 0.05 at the fourth evaluation of batch size 8, 0.04 at the third of 64.
    columns = ("batch_size", "steps", "trial_id", "value")
    assert found.select(columns).rows() == [(8, 30, 1, 0.05), (64, 20, 1, 0.04)]
    assert db.steps([LETTERS], goal=0.85, batch_size=[32])["steps"].to_list() == [10]
    told = db.steps(DIGITS, release="first", by="examples")
    assert told.select("batch_size", "examples", "trial_id").rows() == [(8, 240, 1), (64, 1280, 1)]
    assert told.columns == [name.replace("steps", "examples") for name in found.columns]


@pytest.mark.parametrize(
    ("definition", "examples"),
    [
        # Of 16, from step 2 of 32, from step 7 of 64.
        ('{"batch_schedule": [[2, 2], [7, 4]]}', [0, 32, 64, 192, 256]),
        # And back.
        ('{"batch_schedule": [[2, 3], [3, 1]]}', [0, 32, 80, 144, 160]),
        # What a definition of another's holds.
        *((text, [0, 32, 48, 112, 128]) for text in (None, "{}", '{"batch_schedule": "none"}')),
    ],
)
def test_examples_by_hand(db, definition, examples):
    rows = db.sql(
        "SELECT examples_after(step, 16, $definition::JSON) "
        "FROM (VALUES (0), (2), (3), (7), (8)) AS steps(step) ORDER BY step",
        definition=definition,
    ).rows()
    assert [found for (found,) in rows] == examples


def test_scaling_tells_that_batches_grow():
    with dbtool.open(Path(__file__).parents[3] / "data" / "optimizers_grown") as grown:
        told = [statements[-1] for _, _, statements in grown.scaling("*").statements()]
    assert {text[:34] for text in told} == {"Batches grow within its trials: ba"}


def test_macros_tell_the_metaparameters_of_the_best_trial(db):
    columns = "SELECT batch_size, trial_id, learning_rate, momentum FROM"
    for macro in (
        "steps_to_result('first', $name, NULL, NULL, 100)",
        "best_measurements('first', $name, NULL, NULL, NULL, 100)",
    ):
        rows = db.sql(f"{columns} {macro} ORDER BY batch_size", name=DIGITS).rows()
        assert rows == [(8, 1, 0.1, 0.9), (64, 1, 0.1, 0.9)]


def test_a_release_of_its_own(folder):
    with dbtool.open(folder, release="second") as db:
        assert repr(db) == f"<dbtool.Database {folder}, release='second'>"
        assert db.workloads()["release"].unique().to_list() == ["second"]
        assert db.steps(DIGITS)["value"].to_list() == [0.05 - 0.01, 0.04 - 0.01]
        assert db.measurements().select("release").unique().collect().rows() == [("second",)]
        assert db.workloads(release="first").height == 2


def test_results_in_every_form(db):
    pytest.importorskip("pandas")
    result = db.sql(
        "SELECT trial_id, metaparameters AS m, seed + 0.5 AS half, sum(steps) OVER () AS total "
        "FROM trials WHERE workload = $name AND batch_size = $size AND release = 'first' "
        "AND trial_id < 2 ORDER BY trial_id",
        name=DIGITS,
        size=8,
    )
    rows = [
        (0, {"learning_rate": 0.01, "momentum": 0.5}, 1000.5, 60),
        (1, {"learning_rate": 0.1, "momentum": 0.9}, 1001.5, 60),
    ]
    assert result.columns == ["trial_id", "m", "half", "total"]
    assert len(result) == 2
    assert [(*row[:2], float(row[2]), row[3]) for row in result.rows()] == rows
    assert list(result) == result.rows()
    assert isinstance(result.arrow(), pa.Table)
    assert result.arrow().column("total").type == pa.int64()
    assert result.polars()["total"].to_list() == [60, 60]
    assert result.pandas()["m"].tolist() == [row[1] for row in rows]
    assert "half" in repr(result)
    assert "<table" in result._repr_html_()


def test_missing_values_leave_whole_numbers_and_booleans_of_pandas_as_they_are(db):
    """Also in columns of one name; without missing values they have NumPy's types."""
    pytest.importorskip("pandas")
    large = 2**53 + 1  # the first whole number that a float64 lacks
    rows = f"({large}, {large}, true, 7), (NULL, NULL, NULL, 8)"
    frame = db.sql(
        f"SELECT a, b::UBIGINT AS a, c, d FROM (VALUES {rows}) AS t(a, b, c, d)"
    ).pandas()
    assert list(map(str, frame.dtypes)) == ["Int64", "UInt64", "boolean", "int32"]
    assert frame.iloc[0].tolist() == [large, large, True, 7]
    assert frame.iloc[1].isna().tolist() == [True, True, True, False]
    empty = db.sql("SELECT NULL::TINYINT AS a, sum(NULL::INTEGER) AS b").pandas()
    assert list(map(str, empty.dtypes)) == ["Int8", "Int64"]


def test_names_are_shown_whole_unless_another_length_was_chosen(db):
    name = "mnist_subsets/mnist_27500/simple_cnn_base/nesterov_momentum"
    result = db.sql("SELECT $name AS workload", name=name)
    assert name in repr(result)
    assert name in result._repr_html_()
    with pl.Config(fmt_str_lengths=5):
        assert "mnist…" in repr(result)


def test_whole_numbers_beyond_64_bits_stay(db):
    [(number,)] = db.sql("SELECT 2::HUGEINT ** 100 AS number").rows()
    assert int(number) == 2**100


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("SELECT row(1, 2)", "rows"),
        ("SELECT DATE '290000-01-01'", "rows"),
        ("SELECT 'infinity'::DATE AS day", "__repr__"),
        ("SELECT 1 AS a, 2 AS a", "polars"),
        ("SELECT INTERVAL 1 MONTH", "polars"),
    ],
)
def test_values_that_python_cannot_hold(db, query, form):
    result = db.sql(query)
    assert len(result.arrow()) == 1
    try:
        # DuckDB 2 names what has no name.
        assert len(getattr(result, form)()) > 0
    except dbtool.DbtoolError as error:
        assert re.search(r"cannot hold the rows .* or take \.arrow\(\)$", str(error))  # noqa: PT017


def test_without_pandas(db, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(dbtool.DbtoolError, match="install it with `pip install pandas`"):
        db.sql("SELECT 1").pandas()


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda db: db.measurements(DIGITS, trial_id=[1, 9]), "unknown trial '9'; closest: 2, 1"),
        (lambda db: db.scaling(DIGITS, level=2), "level is 2, and should be a number from 0.5 to"),
        (lambda db: db.scaling(DIGITS, start=0), "start (--from) is 0, and should be a number "),
        (lambda db: db.steps(DIGITS, goal="a"), "goal is 'a', and should be a finite "),
        (lambda db: db.studies(pl.DataFrame({"a": [1]})), "workload is a DataFrame, and should be"),
        (lambda db: db.trials(batch_size="8"), "batch_size is '8', and should be a whole number"),
        (lambda db: db.sql("SELECT $goal"), "needs a value for $goal; give it as goal=VALUE"),
        (lambda db: db.sql("SELECT 1; SELECT 2"), "the query holds 2 statements; give exactly one"),
        (lambda db: db.sql("FROM (PIVOT trials ON batch_size USING count(*))"), "PIVOT needs the"),
        (lambda db: db.export("rows", file_format="parket"), "unknown format 'parket'; closest: p"),
        (lambda db: db.export("a\0.csv"), "has a NUL, which the name of no file has"),
        (lambda db: dbtool.diff(db, db, metric="steps"), "a metric needs the value that it is to"),
        (lambda db: db.plot("steps", through="bogus"), "unknown line 'bogus'; there are first"),
        (lambda _: dbtool.open("a\0"), "has a NUL, which the name of no file has"),
        (lambda _: dbtool.fetch(sha256="12"), "'12' is not a sha256: give 64 hex digits"),
        (lambda _: dbtool.scaling_of_table("nowhere.csv"), "nowhere.csv cannot be read: No such"),
    ],
)
def test_mistakes_are_one_sentence(db, ask, sentence):
    with pytest.raises(dbtool.DbtoolError, match=re.escape(sentence)) as error:
        ask(db)
    assert "\n" not in str(error.value)


def test_a_closed_database_says_so(folder):
    with dbtool.open(str(folder)) as db:
        result = db.sql("SELECT 1 AS one")
        frame = db.measurements(DIGITS)
    assert result.rows() == [(1,)]
    with pytest.raises(dbtool.DbtoolError, match="the database was closed: open it again"):
        db.workloads()
    with pytest.raises(Exception, match="the database was closed: open it again"):
        frame.collect()


def test_threads_share_a_database(db):
    def ask(size: int) -> None:
        for _ in range(6):
            found = db.sql("SELECT $size AS size, count(*) AS n FROM range(10000)", size=size)
            assert found.rows() == [(size, 10_000)]
            steps = db.measurements(DIGITS, batch_size=size).select(pl.len()).collect().item()
            assert steps == 2 * (31 + 31 + 11)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(ask, (8, 64, 8, 64)))


def test_a_frame_that_was_not_read_to_its_end_keeps_nobody_waiting(folder):
    done = run_python("-c", NOT_TO_THE_END, folder)
    assert (done.returncode, done.stdout) == (0, "True\n[(1,)]\n"), done.stderr


def test_closing_ends_what_other_threads_ask(folder):
    with dbtool.open(str(folder)) as db, ThreadPoolExecutor(1) as thread:
        begun = threading.Event()

        def ask() -> None:
            with db.cursor() as cursor:
                begun.set()
                cursor.execute(ENDLESS).fetchall()

        asked = thread.submit(ask)
        begun.wait()
        time.sleep(0.2)
        db.close()
        with pytest.raises(dbtool.DbtoolError, match="the database was closed: open it again"):
            asked.result()


def test_rows_do_not_end_silently_where_the_database_is_closed(folder):
    db = dbtool.open(str(folder))
    with pytest.raises(dbtool.DbtoolError, match="the database was closed"), db.cursor():
        db.close()
