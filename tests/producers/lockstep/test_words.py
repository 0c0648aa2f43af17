"""Words that say how to search, and the rules that they stand for."""

from __future__ import annotations

import pytest

from dbtool.errors import UsageError
from producers.lockstep.rule import LockstepRule
from producers.lockstep.words import Search, SearchWords


def test_words_become_a_rule() -> None:
    assert SearchWords().rule() is None
    assert SearchWords(Search.FIXED).rule() is None
    assert SearchWords(Search.LOCKSTEP, dropping=4.0).rule() == LockstepRule(False, dropping=4.0)
    assert SearchWords(Search.WINDOW, None, 3, 32, 128).rule() == LockstepRule(True, 32, 128, 3)


@pytest.mark.parametrize(
    "words",
    [
        SearchWords(dropping=4.0),
        SearchWords(Search.FIXED, wide_trials=3),
        SearchWords(Search.LOCKSTEP, wide_at=64),
    ],
)
def test_words_that_clash_are_refused(words: SearchWords) -> None:
    with pytest.raises(UsageError, match="leave them out or search with"):
        words.rule()
