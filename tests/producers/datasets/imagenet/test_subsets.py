from __future__ import annotations

import hashlib
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbtool.errors import UsageError
from producers.datasets.imagenet.subsets import check_subset, half_of_classes, half_of_images
from producers.datasets.permutation import HeldOut, fixed_permutation, split_order

LABELS = st.lists(st.integers(0, 4), min_size=1, max_size=80).map(lambda x: np.array(x, "i4"))


@settings(deadline=None)
@given(labels=LABELS)
def test_half_of_the_images_is_half_of_every_class(labels: np.ndarray) -> None:
    numbers = fixed_permutation(len(labels))
    half = half_of_images(numbers, labels)
    assert len(half) == len(labels) // 2
    assert len(set(half.tolist())) == len(half)
    for label in set(labels.tolist()):
        own = numbers[labels[numbers] == label]
        kept = half[labels[half] == label]
        # The first of the class in the fixed order, so that subsets do not depend on other classes.
        np.testing.assert_array_equal(kept, own[: len(kept)])
        assert abs(len(kept) - len(own) / 2) <= 1


@settings(deadline=None)
@given(labels=LABELS)
def test_halves_nest(labels: np.ndarray) -> None:
    half = half_of_images(fixed_permutation(len(labels)), labels)
    assert set(half_of_images(half, labels).tolist()) <= set(half.tolist())


@settings(deadline=None)
@given(classes=st.integers(1, 60))
def test_half_of_the_classes_is_numbered_anew(classes: int) -> None:
    renumbering = half_of_classes(classes)
    kept = renumbering[renumbering >= 0]
    assert kept.tolist() == list(range(classes // 2))
    assert len(renumbering) == classes
    np.testing.assert_array_equal(renumbering, half_of_classes(classes))


def test_fixed_choices_never_change() -> None:
    # Other digests would make every recorded measurement one of another data set.
    digests = [
        hashlib.sha256(array.astype("<i8").tobytes()).hexdigest()[:16]
        for array in (
            half_of_classes(1_000),
            fixed_permutation(50_000),
            split_order("imagenet", 1_281_167, HeldOut(examples=50_045), 1_281_167).held_out,
        )
    ]
    assert digests == ["975e9ba405c54d79", "789a86fe707d6afa", "bfcd64fc1e279063"]


@settings(deadline=None)
@given(
    official=st.integers(2, 400),
    part=st.integers(1, 9),
    order=st.sampled_from(["random", "first", "last"]),
)
def test_held_out_and_training_share_nothing(
    official: int, part: int, order: Literal["random", "first", "last"]
) -> None:
    split = split_order("x", official, HeldOut(order, part), 10)
    assert sorted([*split.train, *split.held_out]) == list(range(official))
    assert len(split.held_out) == min(max(1, round(official * part / 10)), official - 1)


def test_other_subsets_are_refused() -> None:
    check_subset(None)
    check_subset("half_images")
    with pytest.raises(UsageError, match="unknown subset of imagenet 'half_class'; closest: half_"):
        check_subset("half_class")
