"""Slices: how they are written, what they train, and that together they are the sweep."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import (
    BATCH_SIZE,
    WORKLOAD,
    assert_same_rows,
    in_place_of_mnist,
    metadata,
    produce,
    shards,
    small_study,
    start_produce,
    statuses,
    sweep,
)

from dbtool.errors import UsageError
from producers.lock import only_slice
from producers.sweep import Slice, SweepOptions, next_blocks
from producers.sweep.tasks import partition

if TYPE_CHECKING:
    from pathlib import Path

    from producers.plan import StudyPlan

TRIALS = 5
COUNT = 2


@given(st.integers(1, 10**9 - 1), st.data())
def test_written_slices_come_back(count: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(1, count))
    assert Slice.parse(str(Slice(number, count))) == Slice(number, count)


@given(st.text().filter(lambda text: "/" not in text) | st.from_regex(r"\A-?\d*/0*\Z"))
def test_other_words_are_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="--slice") as caught:
        Slice.parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("0/16", "there is no slice 0/16: with --slice I/N, I goes from 1 to N"),
        ("17/16", "there is no slice 17/16"),
        ("0/0", "there is no slice 0/0"),
        ("3", "slice '3' is not a number, a stroke"),
        ("/", "slice '/' is not a number, a stroke"),
        ("", "slice '' is not"),
        ("-1/4", "slice '-1/4' is not"),
        ("1/4/2", "slice '1/4/2' is not"),
        ("\u0661/\u0664", "give the third of sixteen as --slice 3/16"),
    ],
)
def test_slices_that_are_none_are_named(text: str, part: str) -> None:
    with pytest.raises(UsageError) as caught:
        Slice.parse(text)
    assert part in str(caught.value)


def options(part: Slice | None, *, block: int = 2) -> SweepOptions:
    return SweepOptions(block=block, datasets=None, part=part)


def with_trials(study: StudyPlan, trials: int) -> StudyPlan:
    return replace(study, least_trials=trials)


@given(
    count=st.integers(1, 9),
    trials=st.lists(st.integers(1, 20), min_size=1, max_size=3),
    block=st.integers(1, 8),
)
def test_slices_are_a_partition_of_the_sweep(
    tmp_path_factory: pytest.TempPathFactory, count: int, trials: list[int], block: int
) -> None:
    out = tmp_path_factory.getbasetemp() / "nothing"
    plans = [with_trials(small_study(seed=seed), each) for seed, each in enumerate(trials)]

    def blocks(part: Slice | None) -> list[tuple[int, tuple[int, ...]]]:
        following = next_blocks(plans, out, options(part, block=block))
        return [(study, ids) for study, left in enumerate(following) for ids in left]

    parts = [blocks(Slice(number, count)) for number in range(1, count + 1)]
    assert sorted(one for part in parts for one in part) == blocks(None)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_sweeps_cut_differently_are_told_apart() -> None:
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


@pytest.fixture(scope="module")
def undisturbed(made_up_mnist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("undisturbed")
    sweep(small_study(), out, made_up_mnist, trials=TRIALS)
    return out


def test_slices_together_are_the_sweep(
    undisturbed: Path, made_up_mnist: Path, tmp_path: Path
) -> None:
    trained = [
        sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS, part=Slice(number, COUNT))
        for number in (2, 1)
    ]
    # The second slice goes first, and what the other has finished moves no block to another slice.
    assert trained == [[(2, 3)], [(0, 1), (4,)]]
    assert_same_rows(tmp_path, undisturbed)
    for ours, theirs in zip(shards(tmp_path), shards(undisturbed), strict=True):
        for key in ("dbtool_study", "dbtool_trials"):
            assert metadata(ours, key) == metadata(theirs, key)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == shards(tmp_path)
    assert sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS, part=Slice(1, COUNT)) == []
    assert sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS) == []


def test_trials_that_are_there_are_left_out_of_their_block(
    made_up_mnist: Path, tmp_path: Path
) -> None:
    study = small_study(steps=2)
    sweep(study, tmp_path, made_up_mnist, trials=1)
    assert sweep(study, tmp_path, made_up_mnist, trials=4, part=Slice(1, COUNT)) == [(1,)]
    assert sweep(study, tmp_path, made_up_mnist, trials=4, part=Slice(2, COUNT)) == [(2, 3)]
    assert sorted(statuses(tmp_path)) == [0, 1, 2, 3]


def test_only_the_same_slice_clears_what_a_killed_one_left(
    made_up_mnist: Path, tmp_path: Path
) -> None:
    study = small_study(steps=2)
    left = [
        study.folder(tmp_path / f".writing-{number}-of-2") / ".writing-x.parquet"
        for number in (1, 2)
    ]
    for file in left:
        file.parent.mkdir(parents=True)
        file.touch()
    part = Slice(2, COUNT)
    with only_slice(tmp_path, Slice(1, COUNT), partition([with_trials(study, 4)], options(part))):
        sweep(study, tmp_path, made_up_mnist, trials=4, part=part)
        assert [file.exists() for file in left] == [True, False]
    sweep(study, tmp_path, made_up_mnist, trials=4)
    assert not left[0].exists()
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == shards(tmp_path)


@pytest.mark.slow
def test_slices_run_at_once_in_processes_of_their_own(made_up_mnist: Path, tmp_path: Path) -> None:
    words = [WORKLOAD, "--batch-sizes", str(BATCH_SIZE), "--trials", "3", "--steps", "20"]
    words += ["--block", "1", "--release", "tests", *in_place_of_mnist(made_up_mnist)]
    together, whole = tmp_path / "together", tmp_path / "whole"
    started = [
        start_produce(*words, "--out", together, "--slice", f"{number}/{COUNT}")
        for number in (1, 2)
    ]
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert produce(*words, "--out", whole).returncode == 0
    assert sorted(statuses(together)) == [0, 1, 2]
    assert_same_rows(together, whole)
    assert sorted(path for path in together.rglob("*") if path.is_file()) == shards(together)


def test_more_slices_than_blocks_is_told(made_up_mnist: Path, tmp_path: Path) -> None:
    words = (WORKLOAD, "--batch-sizes", str(BATCH_SIZE), "--trials", "3", "--block", "2")
    data = in_place_of_mnist(made_up_mnist)
    result = produce(*words, *data, "--slice", "3/4", "--out", tmp_path)
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr == (
        "nothing to train: the sweep has 2 blocks of trials for 4 slices; "
        "a smaller --block makes more of them\n"
    )
    assert list(tmp_path.iterdir()) == []
