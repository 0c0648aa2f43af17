"""An import that is killed harms nothing and goes on where it was."""

from functools import partial
from pathlib import Path

import pytest

from tests.replica import published_plans, write_archive
from tests.support.archives import contents, query
from tests.support.kills import (
    Undisturbed,
    kill_and_repeat,
    run_undisturbed,
)

KILLS = 3


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve studies with all their trials, in any order, each stored as soon as it is whole."""
    path: Path = tmp_path_factory.mktemp("archive") / "made-up.tar.bz2"
    plans = published_plans(1.0, evaluations=40, odd=True)[:12]
    write_archive(path, studies=plans, layout="tar.bz2", order="shuffled")
    return path


@pytest.fixture(scope="module")
def undisturbed(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    database = tmp_path_factory.mktemp("undisturbed") / "db"
    run = run_undisturbed(("import", str(archive)), contents, database)
    assert "12 of 454" in run.errors
    return run


def assert_studies_are_whole(undisturbed: Undisturbed, database: Path) -> None:
    """Studies are there whole or not at all."""
    if database.exists():
        found = {str(row) for row in query(database, "SELECT * FROM studies")}
        assert found <= set(undisturbed.expected["studies"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_killed_import_goes_on(tmp_path: Path, undisturbed: Undisturbed, seed: int) -> None:
    check = partial(assert_studies_are_whole, undisturbed)
    kill_and_repeat(undisturbed, tmp_path / "db", KILLS, seed, check)
    assert not list(tmp_path.glob(".dbtool-import-*"))
