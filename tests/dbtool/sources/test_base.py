"""Sources are added in one way: what is new, each shard once, a list as a whole or not at all."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from dbtool.core.errors import DbtoolError
from dbtool.core.index import ClashError
from dbtool.core.manifest import About
from dbtool.core.release import shard_paths
from dbtool.release.verify import verify
from dbtool.sources.base import Addition, MalformedError, NewShard, Report, add_source, conclude
from tests.support.made_up import reaching, shard_footer, shard_table


def shard(*trials: Any, **study: Any) -> NewShard:
    """A shard whose trials have sources."""
    footer = shard_footer(trials, **study)
    sources = zip(footer.trials, trials, strict=True)
    named = tuple(msgspec.structs.replace(each, source=str(given)) for each, given in sources)
    return msgspec.structs.replace(footer, trials=named), [shard_table(trials)]


@dataclass(frozen=True)
class MadeUp:
    shards: Callable[[Addition], Iterable[NewShard]]
    about = About(release="made-up")

    def studies(self, addition: Addition) -> Iterable[NewShard]:
        return self.shards(addition)


def test_trials_that_are_there_are_left_out(tmp_path):
    folder = tmp_path / "release"
    add_source(MadeUp(lambda _: [shard(reaching(0), reaching(2))]), folder)
    grown = [shard(*map(reaching, range(4))), shard(reaching(0), batch_size=32)]
    # A trial has 21 rows.
    expected = Report("made-up", folder, 2, 1, 3, 63, 2)
    assert add_source(MadeUp(lambda _: iter(grown)), folder) == expected
    assert add_source(MadeUp(lambda _: grown), folder) == Report("made-up", folder, already_there=5)
    assert verify(folder).problems == ()
    assert verify(folder).measurements == 105


def test_a_study_that_differs_is_refused_without_new_trials_too(tmp_path):
    folder = tmp_path / "release"
    add_source(MadeUp(lambda _: [shard(reaching(0))]), folder)
    other = [shard(reaching(0), train_steps=7)]
    for source in (MadeUp(lambda _: other), MadeUp(lambda _: iter(other))):
        with pytest.raises(ClashError, match=r"differs from the one that is there in train_steps"):
            add_source(source, folder)


def test_of_a_list_nothing_is_added_where_a_part_clashes(tmp_path):
    folder = tmp_path / "release"
    add_source(MadeUp(lambda _: [shard(reaching(0))]), folder)
    clashing = [shard(reaching(0), batch_size=32), shard(reaching(0, 0.2))]
    with pytest.raises(ClashError, match="its trial 0 is already there"):
        add_source(MadeUp(lambda _: clashing), folder)
    assert len(shard_paths(folder)) == 1
    closed = []

    def shards(_: Addition) -> Iterator[NewShard]:
        try:
            yield from [*clashing, *(shard(reaching(0), batch_size=2**power) for power in range(5))]
        finally:
            closed.append(True)

    with pytest.raises(ClashError, match="its trial 0 is already there"):
        add_source(MadeUp(shards), folder)
    assert closed == [True]
    assert 2 <= len(shard_paths(folder)) < 7


def test_a_source_that_is_refused_late_leaves_nothing_that_was_not_there(tmp_path):
    def none(_: Addition) -> list[NewShard]:
        raise DbtoolError("it holds no study")

    def broken(_: Addition) -> Iterator[NewShard]:
        footer, tables = shard(reaching(0))
        # Rows of more than one kind of step are out of contract.
        yield footer, [*tables, *tables]

    for shards, reason in ((none, "no study"), (broken, "trial 0")):
        (tmp_path / "there").mkdir(exist_ok=True)
        for folder in (tmp_path / "new" / "release", tmp_path / "there"):
            with pytest.raises(DbtoolError, match=reason):
                add_source(MadeUp(shards), folder)
        assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_a_generator_sees_what_was_added_and_ends_with_the_addition(tmp_path):
    seen: list[int | str] = []

    def shards(addition: Addition) -> Iterator[NewShard]:
        try:
            for size in range(1, 9):
                yield shard(reaching(0), batch_size=size)
                seen.append(len(addition.held.studies))
            raise DbtoolError("the disk is gone")
        finally:
            seen.append("closed")

    with pytest.raises(DbtoolError, match="the disk is gone"):
        add_source(MadeUp(shards), tmp_path / "release")
    *counts, last = seen
    assert last == "closed"
    # At most a few are on their way.
    assert all(number - 4 < int(count) <= number for number, count in enumerate(counts, 1))
    assert len(shard_paths(tmp_path / "release")) == 8


def test_what_is_malformed_is_told_and_the_rest_is_stored(tmp_path):
    def shards(addition: Addition) -> Iterator[NewShard]:
        addition.report.leave_out(MalformedError("a.log", "it has no end"), trials=2)
        addition.report.oddities["nan"] += 3
        yield shard(reaching(0))
        addition.report.failure = MalformedError("b.log", "it is damaged")

    report = add_source(MadeUp(shards), tmp_path / "release")
    told: list[str] = []
    with pytest.raises(DbtoolError, match=r"^b\.log: it is damaged; studies that were whole until"):
        conclude(report, report.added(), told.append)
    assert told == [
        "left out a.log: it has no end",
        "added 1 trial and 21 measurements to made-up; 0 trials already there",
        "kept as they are: 3 nan",
        f"in {tmp_path / 'release'}",
    ]
    report.failure = None
    with pytest.raises(DbtoolError, match=r"^1 malformed file and 2 trials were left out"):
        conclude(report, report.added(), told.append)
