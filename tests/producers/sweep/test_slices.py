"""Slices: how they are written, what they train, and who may write beside whom."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.contract import study_path
from dbtool.core.errors import DbtoolError
from dbtool.core.files import unfinished
from dbtool.core.index import Index
from producers.configuration import Slice, SweepOptions
from producers.plan import StudyPlan
from producers.sweep import lock
from producers.sweep.lock import only_writer
from producers.sweep.run import next_blocks, partition
from tests.support.sweeps import assert_same_sweep, small_study, statuses, sweep, unlisted

TRIALS = 5
COUNT = 2


def options(part: Slice | None, *, block: int = 2) -> SweepOptions:
    return SweepOptions(block=block, slice=None if part is None else str(part))


def with_trials(study: StudyPlan, trials: int) -> StudyPlan:
    return replace(study, least_trials=trials)


@given(
    count=st.integers(1, 9),
    trials=st.lists(st.integers(1, 20), min_size=1, max_size=3),
    block=st.integers(1, 8),
)
def test_slices_are_a_partition_of_the_sweep(count, trials, block):
    plans = [with_trials(small_study(seed=seed), each) for seed, each in enumerate(trials)]

    def blocks(part: Slice | None) -> list[tuple[int, tuple[int, ...]]]:
        following = next_blocks(plans, Path(), Index(), options(part, block=block))
        return [(study, ids) for study, left in enumerate(following) for ids in left]

    parts = [blocks(Slice(number, count)) for number in range(1, count + 1)]
    assert sorted(one for part in parts for one in part) == blocks(None)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_sweeps_cut_differently_are_told_apart():
    study = with_trials(small_study(), 7)
    cuts = {
        partition([study], options(None)),
        partition([study], options(None, block=3)),
        partition([with_trials(study, 8)], options(None)),
        partition([study, with_trials(small_study(seed=1), 7)], options(None)),
        partition([with_trials(small_study(steps=4), 7)], options(None)),
    }
    assert len(cuts) == 5
    assert partition([study], options(Slice(1, 2))) == partition([study], options(Slice(2, 2)))


def test_slices_together_are_the_sweep(undisturbed, made_up_mnist, tmp_path):
    trained = [
        sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS, slice=f"{number}/{COUNT}")
        for number in (2, 1)
    ]
    # The second slice goes first, and what the other has finished moves no block to another slice.
    assert trained == [[(2, 3)], [(0, 1), (4,)]]
    assert_same_sweep(tmp_path, undisturbed)
    assert sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS, slice="1/2") == []
    assert sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS) == []


def test_trials_that_are_there_are_left_out_of_their_block(made_up_mnist, tmp_path):
    study = small_study(steps=2)
    sweep(study, tmp_path, made_up_mnist, trials=1)
    assert sweep(study, tmp_path, made_up_mnist, trials=4, slice="1/2") == [(1,)]
    assert sweep(study, tmp_path, made_up_mnist, trials=4, slice="2/2") == [(2, 3)]
    assert sorted(statuses(tmp_path)) == [0, 1, 2, 3]


def test_a_slice_leaves_what_another_one_writes(made_up_mnist, tmp_path):
    study = small_study(steps=2)
    abandoned = tmp_path / study_path(*study.key) / ".writing-abandoned"
    abandoned.parent.mkdir(parents=True)
    abandoned.touch()
    part = Slice(2, COUNT)
    with (
        only_writer(tmp_path, Slice(1, COUNT), partition([with_trials(study, 4)], options(part))),
        unfinished(abandoned.parent) as (_, in_work),
    ):
        sweep(study, tmp_path, made_up_mnist, trials=4, slice=str(part))
        assert in_work.exists()
    assert unlisted(tmp_path) == []


FIRST, SECOND = Slice(1, 2), Slice(2, 2)


@pytest.mark.parametrize(
    ("held", "wanted", "sentence"),
    [
        ((), (FIRST, "cut"), "another sweep writes into"),
        ((FIRST, "cut"), (), "a slice of a sweep writes into"),
        ((FIRST, "cut"), (FIRST, "cut"), "another process of slice 1/2 writes into"),
        (
            (FIRST, "cut"),
            (SECOND, "other"),
            "a slice of another sweep, or of one cut differently, writes into",
        ),
    ],
)
def test_all_others_are_refused(tmp_path, held, wanted, sentence, monkeypatch):
    monkeypatch.setattr(lock, "_PATIENCE", 0.1)
    with only_writer(tmp_path, *held):
        before = sorted(tmp_path.iterdir())
        with pytest.raises(DbtoolError, match=sentence) as caught, only_writer(tmp_path, *wanted):
            pass
        assert "--out" in str(caught.value)
        assert sorted(tmp_path.iterdir()) == before
    with only_writer(tmp_path, *wanted):
        pass
    assert list(tmp_path.iterdir()) == []


def test_lock_files_of_killed_slices_hold_nobody_up(tmp_path):
    for wanted in (only_writer(tmp_path, FIRST, "cut"), only_writer(tmp_path)):
        (tmp_path / ".lock").touch()
        (tmp_path / ".lock-1-of-2-cut").touch()
        (tmp_path / ".lock-7-of-9-other").touch()
        with wanted:
            pass
    # The whole sweep, which was the last, has removed them all.
    assert list(tmp_path.iterdir()) == []
