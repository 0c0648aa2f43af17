"""Translated queries have dbtool's answers on every engine; what has no translation is told."""

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dbtool.core.errors import UsageError
from dbtool.core.manifest import About, read_manifest
from dbtool.core.resources import query
from dbtool.dialects.expansion import namespace
from dbtool.dialects.translation import translated
from dbtool.store.questions import analyses
from tests.support.documents import blocks
from tests.support.engines import ENGINES, Run, engine
from tests.support.made_up import curve, write_shard
from tests.support.published import SGD, published, write_shards
from tests.support.slow import quick_few
from tests.support.spark import open_spark

ABOUT = [About(release="my-release")]


def test_releases_whose_tables_would_have_one_name_are_refused():
    with pytest.raises(UsageError, match="'a-b' and 'a_b' would both have the tables of 'a_b'"):
        translated("FROM trials", "spark", [About(release="a-b"), About(release="a_b")])


def test_names_of_parts_do_not_meet():
    text = """
        WITH trials AS (SELECT 1 AS goals), goals AS (SELECT goals + 1 AS asked FROM trials)
        SELECT (WITH goals AS (SELECT 5 AS goals) SELECT max(goals) FROM goals) + asked AS n
        FROM goals
    """
    found = pl.SQLContext().execute(translated(text, "polars", ABOUT)).collect()
    assert found.rows() == [(7,)]


def test_a_value_that_a_join_does_not_always_share_stays():
    text = """
        WITH a AS (SELECT NULL AS x, 1 AS y), b AS (SELECT 5 AS x, 1 AS y)
        SELECT coalesce(a.x, b.x) AS x FROM a JOIN b ON a.x = b.x OR a.y = b.y
    """
    assert "COALESCE" in translated(text, "spark", ABOUT)
    assert "COALESCE" not in translated(text.replace(" OR ", " AND "), "spark", ABOUT)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT 1; SELECT 2", "only one SELECT statement"),
        ("SELECT nothing FROM trials", "no translation to spark: .*nothing"),
        ("SELECT $goal", r"needs a value for \$goal: give it with `--param goal=VALUE`"),
        ("FROM duckdb_views()", r"duckdb_views\(\) has no counterpart"),
        ("FROM steps_to_result(NULL)", "is called with 1 values"),
        ("WITH RECURSIVE a AS (SELECT 1) FROM a", "WITH RECURSIVE has no counterpart"),
    ],
)
def test_what_has_no_translation_is_told(text, reason):
    with pytest.raises(UsageError, match=reason) as refused:
        translated(text, "spark", ABOUT)
    assert "\n" not in str(refused.value)


# Maps are text on other engines.
VIEWS = {
    "releases": "FROM releases ORDER BY release",
    "workloads": "FROM workloads ORDER BY workload",
    "studies": "FROM studies ORDER BY workload, batch_size",
    "trials": "SELECT * EXCLUDE (metaparameters) FROM trials "
    "ORDER BY workload, batch_size, trial_id",
    "measurements": "SELECT * EXCLUDE (other_metrics) FROM measurements "
    "ORDER BY workload, batch_size, trial_id, step",
    "evaluations": "FROM evaluations ORDER BY workload, batch_size, trial_id, step, metric",
}
QUERIES = {**VIEWS, **{name: query(name, "analyses") for name in analyses()}}
# Engines take seconds for the others.
SLOW = {"best_by_epochs", "best_curves", "efficiency", "enough_trials", "luck", "optima"}
QUICK = {*QUERIES} - SLOW


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Studies with enough trials for every analysis, beside odd ones."""
    base = tmp_path_factory.mktemp("release")
    own = write_shards(base / "own")
    space = {
        "learning_rate": {"min_value": 0.001, "max_value": 1.0, "scale": "LOG_SCALE"},
        "momentum": {"min_value": 0.5, "max_value": 0.999, "scale": "REVERSE_LOG_SCALE"},
        "dropout": {"feasible_points": [0.0, 0.5]},
    }
    for size in (2, 4, 16):
        trials: list[Any] = []
        for number in range(7):
            rates = {"learning_rate": 0.0015 * 2**number, "momentum": 0.9, "dropout": 0.5}
            errors = [0.9, *[0.6 / (number + 1)] * (7 - number), 0.01 * number]
            status = "INFEASIBLE" if number == 5 else "COMPLETE"
            trials.append((number, status, rates, curve(errors)))
        study: Any = {"goal": 0.055, "train_steps": 80, "train_examples": 100}
        study |= {"workload": "letters/fc_8/sgd", "batch_size": size, "search_space": space}
        write_shard(own, trials=trials, **study)
    # Six settings of two seeds.
    trials = [
        (number, "COMPLETE", {"learning_rate": 0.002 * 2 ** (number // 2)},
         curve([0.9, 0.5 / (number + 1), 0.01 * number]))
        for number in range(12)
    ]  # fmt: skip
    study |= {"workload": "letters/fc_8/adam", "goal": 0.08, "train_steps": 20}
    write_shard(own, trials=trials, replicates=True, **study)
    return published(own, base / "out")


@pytest.fixture(scope="module", params=ENGINES)
def dialect(request: pytest.FixtureRequest) -> Iterator[str]:
    with open_spark() if request.param == "spark" else nullcontext():
        yield str(request.param)


@pytest.fixture(scope="module")
def run(dialect: str, folder: Path) -> Iterator[Run]:
    with engine(dialect, "made-up", folder) as run:
        yield run


def same(expected: Any, found: Any) -> bool:
    """Whether a value is the one that was expected: decimals to 9 digits, all else exactly."""
    if isinstance(expected, float) and found is not None:
        return math.isclose(expected, found, rel_tol=1e-9) or (
            math.isnan(expected) and math.isnan(found)
        )
    return bool(expected == found)


@contextmanager
def leaving_out_a_rule(run: Run) -> Iterator[None]:
    """Has Spark leave out the rule of its optimizer that docs/engines.md names."""
    [statement] = blocks("engines.md", "sql")
    run(statement.text)
    yield
    run("RESET spark.sql.optimizer.excludedRules")


@pytest.mark.parametrize("name", quick_few(QUERIES, QUICK))
def test_answers_are_those_of_dbtool(db, folder, name, dialect, run):
    expected = db.sql(QUERIES[name]).polars()
    with leaving_out_a_rule(run) if (dialect, name) == ("spark", "evaluations") else nullcontext():
        columns, rows = run(translated(QUERIES[name], dialect, [read_manifest(folder)]))
    assert columns == expected.columns
    assert len(rows) == len(expected) > 0
    for wanted, row in zip(expected.rows(), rows, strict=True):
        assert all(map(same, wanted, row)), (wanted, row)


def test_several_releases_are_one_view(tmp_path):
    context = pl.SQLContext()
    about = []
    for name in ("one", "it's two"):
        folder = published(write_shards(tmp_path / f"{name} own", name), tmp_path / name)
        about.append(read_manifest(folder))
        for table in ("workloads", "studies", "trials", "measurements/**/*"):
            rows = pl.scan_parquet(folder / f"{table}.parquet")
            context.register(f"{namespace(name)}.{table.partition('/')[0]}", rows)
    text = "SELECT release, count(*) AS n FROM trials WHERE workload = $w GROUP BY 1 ORDER BY n, 1"
    found = context.execute(translated(text, "polars", about, {"w": SGD})).collect()
    assert found.rows() == [("it's two", 5), ("one", 5)]
