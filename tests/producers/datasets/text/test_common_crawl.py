from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError
from producers.datasets import load_dataset
from producers.datasets.forms import TextForm
from producers.datasets.text.streamed import draw_numbers, sentence_numbers
from tests.support.texts import numbered, texts, wet

if TYPE_CHECKING:
    from pathlib import Path

FORM = TextForm(vocabulary=300, length=80)
SENTENCES = numbered(0, 100)


def write(folder: Path, *, compressed: bool = True) -> Path:
    """Two archives of ten pages of five lines each, the second one compressed or not."""
    pages = ["\n".join(SENTENCES[first : first + 5]).encode() for first in range(0, 100, 5)]
    folder.mkdir(parents=True)
    (folder / "CC-MAIN-00000.warc.wet").write_bytes(wet(pages[:10], compressed=False))
    name = "CC-MAIN-00001.warc.wet.gz" if compressed else "CC-MAIN-00001.warc.wet"
    (folder / name).write_bytes(wet(pages[10:], compressed=compressed))
    return folder


@pytest.mark.parametrize("compressed", [False, True])
def test_every_sentence_is_in_one_split(tmp_path: Path, *, compressed: bool) -> None:
    folder = write(tmp_path / "common_crawl", compressed=compressed)
    data = load_dataset("common_crawl", form=FORM, folder=folder)
    train, validation, test = (
        texts(data, split) for split in (data.train, data.validation, data.test)
    )
    assert (len(train), len(validation), len(test)) == (90, 5, 5)
    assert sorted(train + validation + test) == sorted(SENTENCES)
    # Drawn below.
    assert [SENTENCES.index(text) for text in validation] == [9, 23, 35, 43, 48]
    held_out = {*validation, *test}
    assert train == [sentence for sentence in SENTENCES if sentence not in held_out]
    assert sorted(data.file_hashes) == ["archives", "vocabulary"]


def test_as_many_are_held_out_as_in_the_paper(tmp_path: Path) -> None:
    lines = "\n".join(f"line {number}" for number in range(121_600))
    (tmp_path / "a.warc.wet").write_bytes(wet([lines.encode()], compressed=False))
    data = load_dataset("common_crawl", form=FORM, folder=tmp_path)
    # A twentieth would be 6,080.
    assert (len(data.train), len(data.validation), len(data.test)) == (109_450, 6_075, 6_075)


def test_split_never_changes() -> None:
    # Other numbers would make every recorded measurement one of another data set.
    assert draw_numbers(10, 100).tolist() == [9, 48, 35, 23, 43, 27, 86, 10, 62, 76]
    drawn = draw_numbers(4, 25_800_000_000).tolist()
    assert drawn == [2_660_354_009, 13_106_686_148, 23_404_630_609, 4_292_993_835]


@pytest.mark.parametrize("subfolder", ["", "wet", "crawl-data/CC-MAIN-2017-04/segments/14.95/wet"])
def test_archives_lie_where_the_official_paths_say(tmp_path: Path, subfolder: str) -> None:
    write(tmp_path / "common_crawl" / subfolder)
    data = load_dataset("common_crawl", form=FORM, datasets_dir=tmp_path)
    assert len(data.train) == 90


def test_few_sentences_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.warc.wet").write_bytes(wet([b"one\ntwo\n"], compressed=False))
    sentence = "common_crawl has 2 sentences here, and one each is held"
    with pytest.raises(DbtoolError, match=sentence):
        load_dataset("common_crawl", form=FORM, folder=tmp_path)


@given(data=st.data())
def test_sentences_that_are_not_held_out_are_counted_through(data: st.DataObject) -> None:
    population = data.draw(st.integers(1, 40))
    held_out = sorted(data.draw(st.sets(st.integers(0, population - 1))))
    rest = [number for number in range(population) if number not in held_out]
    found = sentence_numbers(np.arange(len(rest)), np.array(held_out, np.int64))
    assert found.tolist() == rest


@given(data=st.data())
def test_drawn_numbers_differ(data: st.DataObject) -> None:
    population = data.draw(st.integers(1, 10**12))
    count = data.draw(st.integers(1, min(20, population)))
    drawn = draw_numbers(count, population).tolist()
    assert len(set(drawn)) == count
    assert all(0 <= number < population for number in drawn)
