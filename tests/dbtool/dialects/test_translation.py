"""What is translated, and what is refused in a sentence."""

import polars as pl
import pytest
import sqlglot
from sqlglot import exp

from dbtool.core.errors import UsageError
from dbtool.core.manifest import About
from dbtool.dialects.translation import DIALECTS, translated
from dbtool.store.questions import analyses, query_text
from tests.support.slow import quick_few

ABOUT = [About(release="my-release")]
TABLES = {"workloads", "studies", "trials", "measurements"}


@pytest.mark.parametrize("dialect", quick_few(DIALECTS, {"spark"}))
# In test_engines.py Polars runs the others.
@pytest.mark.parametrize("name", quick_few(analyses(), {"best_curves", "efficiency", "luck"}))
def test_it_reads_tables_of_the_release_alone(name, dialect):
    generator = DIALECTS[dialect].generator
    query = sqlglot.parse_one(translated(query_text(name), dialect, ABOUT), dialect=generator)
    parts = {each.alias for each in query.find_all(exp.CTE)}
    read = {each for each in query.find_all(exp.Table) if each.name not in parts or each.db}
    assert {each.db for each in read} == {"my_release"}
    assert {each.name for each in read} <= TABLES


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
    ("text", "dialect", "reason"),
    [
        ("SELECT 1", "sqlite", "unknown dialect 'sqlite'; there are spark, polars"),
        ("SELECT 1; SELECT 2", "spark", "only one SELECT statement"),
        ("SELECT FROM WHERE", "spark", "the query has no translation to spark: "),
        ("SELECT nothing FROM trials", "spark", "no translation to spark: .*nothing"),
        ("SELECT $goal", "spark", r"needs a value for \$goal: give it with `--param goal=VALUE`"),
        ("FROM duckdb_views()", "spark", r"duckdb_views\(\) has no counterpart"),
        ("FROM steps_to_result(NULL)", "spark", "is called with 1 values"),
        ("WITH RECURSIVE a AS (SELECT 1) FROM a", "spark", "WITH RECURSIVE has no counterpart"),
    ],
)
def test_what_has_no_translation_is_told(text, dialect, reason):
    with pytest.raises(UsageError, match=reason) as refused:
        translated(text, dialect, ABOUT)
    assert "\n" not in str(refused.value)
