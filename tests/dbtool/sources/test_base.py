"""Sources are added in one way: what is new, each shard once, a list as a whole or not at all."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dbtool
from dbtool.core.errors import DbtoolError
from dbtool.core.index import ClashError
from dbtool.core.manifest import About
from dbtool.core.release import shard_paths
from dbtool.release.verify import verify
from dbtool.sources.base import Addition, MalformedError, NewShard, Report, add_source, conclude
from dbtool.sources.ingest import ingest
from tests.support.made_up import reaching, shard_footer, shard_table, write_shard


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
    held = [shard(reaching(0), reaching(2)), shard(reaching(5), batch_size=32)]
    add_source(MadeUp(lambda _: iter(held)), folder)
    # Of each shard of a list its own.
    grown = [
        shard(*map(reaching, range(4))),
        shard(reaching(5), reaching(6), batch_size=32),
        shard(reaching(0), batch_size=8),
    ]
    # A trial has 21 rows.
    expected = Report("made-up", folder, 3, 1, 4, 84, 3)
    assert add_source(MadeUp(lambda _: grown), folder) == expected
    there = Report("made-up", folder, already_there=7)
    assert add_source(MadeUp(lambda _: iter(grown)), folder) == there
    assert (verify(folder).problems, verify(folder).measurements) == ((), 7 * 21)


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


def released(folder: Path, *shards: list[Any], **given: Any) -> Path:
    """Writes a release of shards with these trials."""
    for trials in shards:
        write_shard(folder, trials=trials, replicates=True, **given)
    return folder


def test_trials_of_a_release_that_were_trained_twice_are_there(tmp_path):
    one, two, three, four, nan = (*map(reaching, range(4)), reaching(4, math.nan))
    held = released(tmp_path / "held", [one, two], [nan])
    twice = released(tmp_path / "twice", [one], [two, nan], producer={"created": "later"})
    [report] = ingest(twice, held)
    assert (report.shards, report.trials, report.already_there) == (0, 0, 3)
    # Blocks that hold other trials, of which each shard has some that are there.
    blocks = released(tmp_path / "blocks", [two, three], [four, nan], producer={"created": "now"})
    write_shard(blocks, trials=[one], batch_size=32, replicates=True)
    [report] = ingest(blocks, held)
    assert (report.shards, report.trials, report.already_there) == (3, 3, 2)
    assert (verify(held).problems, verify(held).measurements) == ((), 6 * 21)
    both = released(tmp_path / "both", [one, two], [three, four, nan])
    write_shard(both, trials=[one], batch_size=32, replicates=True)
    with dbtool.open(held) as first, dbtool.open(both) as second:
        assert dbtool.diff(first, second).rows() == []
    assert ingest(blocks, held)[0].already_there == 5


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (reaching(1, 0.2), r"val_classification_error at step 20 (0.2, there 0.1)"),
        ((1, "INFEASIBLE", *reaching(1)[2:]), 'status ("INFEASIBLE", there "COMPLETE")'),
        ((1, "COMPLETE", {"learning_rate": 0.2}, reaching(1)[3]), "metaparameters (learning_rate)"),
    ],
)
def test_of_a_release_with_a_trial_that_differs_nothing_is_added(tmp_path, other, what):
    held = released(tmp_path / "held", [reaching(0), reaching(1)], train_steps=20)
    given = released(tmp_path / "given", [reaching(0), other, reaching(2)], train_steps=20)
    write_shard(given, batch_size=32)
    with pytest.raises(ClashError) as caught:
        ingest(given, held)
    assert str(caught.value).endswith(
        f"its trial 1 differs from the one that is there in {what}; "
        f"`dbtool diff {given} {held}` shows all that differs, and `dbtool ingest {given} "
        "--release NAME` adds it as a release of another name"
    )
    assert len(shard_paths(held)) == 1
    [report] = ingest(given, tmp_path / "db", release="theirs")
    assert (report.folder, report.trials) == (tmp_path / "db" / "theirs", 4)
    with dbtool.open(tmp_path / "db") as db:
        assert db.releases()["release"].to_list() == ["theirs"]


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
