"""Releases are added to each other, each shard once, and nothing where something clashes."""

from pathlib import Path

import pytest

from dbtool.core.errors import DbtoolError
from dbtool.core.index import ClashError
from dbtool.release.verify import verify
from dbtool.sources.base import Report
from tests.support.made_up import curve, write_shard
from tests.support.published import add_release, bytes_of, published, write_shards


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return write_shards(tmp_path / "own")


def test_what_is_there_already_changes_nothing(own: Path, tmp_path: Path) -> None:
    into = tmp_path / "into"
    told: list[tuple[int, int]] = []
    added = add_release(own, into, on_progress=lambda *each: told.append(each))
    assert added == Report("made-up", into, 4, 3, 6, 169, 0)
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert bytes_of(into) == bytes_of(own)
    assert add_release(own, into) == add_release(published(own, tmp_path / "out"), into)
    assert add_release(own, own) == Report("made-up", own, 0, 0, 0, 0, 4)
    assert bytes_of(into) == bytes_of(own)
    assert verify(into).problems == ()


def test_trials_that_came_later_go_into_their_study(tmp_path: Path) -> None:
    def write(folder: Path, trial: int) -> Path:
        trials = [(trial, "COMPLETE", {"a": 1.0}, curve([0.9, 0.5 / (trial + 1)]))]
        write_shard(folder, trials=trials, train_steps=10)
        return folder

    both = write(write(tmp_path / "both", 0), 1)
    into = write(tmp_path / "into", 0)
    assert add_release(both, into) == Report("made-up", into, 1, 0, 1, 11, 1)
    assert bytes_of(into) == bytes_of(both)


def test_what_clashes_adds_nothing(own: Path, tmp_path: Path) -> None:
    into = tmp_path / "into"
    other = (7, "COMPLETE", {"β": 0.25}, curve([0.9, 0.5]))
    write_shard(into, workload="letters/fc_64/adam", batch_size=32, trials=[other])
    before = bytes_of(into)
    with pytest.raises(ClashError, match="letters/fc_64/adam at batch size 32 cannot be added to"):
        add_release(own, into)
    assert bytes_of(into) == before


def test_a_release_that_lacks_a_shard_is_not_added(own: Path, tmp_path: Path) -> None:
    add_release(own, tmp_path / "into")
    (shard, *_) = sorted((tmp_path / "into").rglob("measurements/**/*.parquet"))
    shard.unlink()
    with pytest.raises(DbtoolError, match="is damaged: it is missing"):
        add_release(tmp_path / "into", tmp_path / "third")
    assert verify(own).problems == ()
