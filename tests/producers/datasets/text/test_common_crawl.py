from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.errors import DbtoolError, UsageError
from producers.datasets import Split, TextForm, load_dataset
from producers.datasets.text.cache import cache_folder
from producers.datasets.text.source import draw_numbers, sentence_numbers
from producers.datasets.text.vocabulary import load_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from producers.datasets import Examples

pytestmark = pytest.mark.usefixtures("no_given_folder")
FORM = TextForm(vocabulary=300, length=80)


@pytest.fixture
def sentences(numbered: Callable[[int, int], list[str]]) -> list[str]:
    return numbered(0, 100)


@pytest.fixture
def folder(sentences: list[str], wet: Callable[..., bytes], tmp_path: Path) -> Path:
    """Two archives, one of them compressed, of ten pages of five lines each."""
    pages = ["\n".join(sentences[first : first + 5]).encode() for first in range(0, 100, 5)]
    folder = tmp_path / "common_crawl"
    folder.mkdir()
    (folder / "CC-MAIN-00000.warc.wet").write_bytes(wet(pages[:10], compressed=False))
    (folder / "CC-MAIN-00001.warc.wet.gz").write_bytes(wet(pages[10:], compressed=True))
    return folder


def texts(examples: Examples) -> list[str]:
    vocabulary = load_vocabulary(next(cache_folder("vocabularies").glob("*/*.model")))
    read = (
        examples if isinstance(examples, Split) else examples.read(np.arange(len(examples)), None)
    )
    return [vocabulary.decode(row[: row.tolist().index(2)].tolist()) for row in read.targets]


def test_every_sentence_is_in_one_split(folder: Path, sentences: list[str]) -> None:
    data = load_dataset("common_crawl", form=FORM, folder=folder)
    train, validation, test = map(texts, (data.train, data.validation, data.test))
    assert (len(train), len(validation), len(test)) == (90, 5, 5)
    assert sorted(train + validation + test) == sorted(sentences)
    held_out = {*validation, *test}
    assert train == [sentence for sentence in sentences if sentence not in held_out]
    assert sorted(data.file_hashes) == ["archives", "vocabulary"]


def test_as_many_are_held_out_as_in_the_paper(wet: Callable[..., bytes], tmp_path: Path) -> None:
    lines = "\n".join(f"line {number}" for number in range(121_600))
    (tmp_path / "a.warc.wet").write_bytes(wet([lines.encode()], compressed=False))
    data = load_dataset("common_crawl", form=FORM, folder=tmp_path)
    # A twentieth would be 6,080.
    assert (len(data.train), len(data.validation), len(data.test)) == (109_450, 6_075, 6_075)


def test_split_never_changes() -> None:
    # Other numbers would make every recorded measurement one of another data set.
    assert draw_numbers(10, 100).tolist() == [9, 48, 35, 23, 43, 27, 86, 10, 62, 76]
    assert draw_numbers(4, 25_800_000_000).tolist() == [
        2660354009,
        13106686148,
        23404630609,
        4292993835,
    ]


def test_compression_changes_nothing(
    folder: Path, wet: Callable[..., bytes], tmp_path: Path, sentences: list[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    pages = ["\n".join(sentences[first : first + 5]).encode() for first in range(0, 100, 5)]
    for number, part in enumerate((pages[:10], pages[10:])):
        path = other / f"CC-MAIN-0000{number}.warc.wet"
        path.write_bytes(wet(part, compressed=False))
    first, second = (
        load_dataset("common_crawl", form=FORM, folder=where) for where in (folder, other)
    )
    for one, another in ((first.train, second.train), (first.validation, second.validation)):
        assert texts(one) == texts(another)


@pytest.mark.parametrize("place", ["", "wet", "crawl-data/CC-MAIN-2017-04/segments/14.95/wet"])
def test_archives_lie_where_the_official_paths_say(
    folder: Path, tmp_path: Path, place: str
) -> None:
    where = tmp_path / "given" / "common_crawl" / place
    where.parent.mkdir(parents=True, exist_ok=True)
    folder.rename(where)
    data = load_dataset("common_crawl", form=FORM, datasets_dir=tmp_path / "given")
    assert len(data.train) == 90


def test_smaller_training_sets_are_the_first_sentences(folder: Path) -> None:
    whole = load_dataset("common_crawl", form=FORM, folder=folder)
    part = load_dataset("common_crawl", form=FORM, folder=folder, train_examples=30)
    assert texts(part.train) == texts(whole.train)[:30]
    with pytest.raises(UsageError, match="from 1 to 90 examples to train on, not 91"):
        load_dataset("common_crawl", form=FORM, folder=folder, train_examples=91)


def test_wrong_encodings_are_skipped_and_counted(
    folder: Path,
    wet: Callable[..., bytes],
    capfd: pytest.CaptureFixture[str],
) -> None:
    page = "Größe\n\n".encode("latin-1") + b"A good line\n"
    (folder / "CC-MAIN-00002.warc.wet.gz").write_bytes(wet([page], compressed=True))
    data = load_dataset("common_crawl", form=FORM, folder=folder)
    assert len(data.train) + len(data.validation) + len(data.test) == 101
    assert "skipped lines of common_crawl: 1 empty, 1 not UTF-8\n" in capfd.readouterr().err


def test_damaged_archives_are_named(folder: Path, wet: Callable[..., bytes]) -> None:
    path = folder / "CC-MAIN-00001.warc.wet.gz"
    whole = path.read_bytes()
    for content, reason in [
        (whole[:-5], "is truncated or damaged: the record at byte .* is not whole"),
        (b"<html>no such page</html>", "is no WET archive"),
        (gzip.compress(wet([b"a", b"b"], compressed=False)), "is compressed as a whole"),
        (gzip.compress(b"text\n"), "is no WET archive"),
    ]:
        path.write_bytes(content)
        with pytest.raises(DbtoolError, match=f"^{path} {reason}"):
            load_dataset("common_crawl", form=FORM, folder=folder)


def test_few_sentences_are_refused(wet: Callable[..., bytes], tmp_path: Path) -> None:
    (tmp_path / "a.warc.wet").write_bytes(wet([b"one\ntwo\n"], compressed=False))
    with pytest.raises(
        DbtoolError, match="common_crawl has 2 sentences here, and one each is held"
    ):
        load_dataset("common_crawl", form=FORM, folder=tmp_path)


def test_absent_data_set_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DbtoolError, match=r"data\.commoncrawl\.org/crawl-data/<crawl>/wet\.paths"):
        load_dataset("common_crawl", form=FORM, datasets_dir=tmp_path)


@given(data=st.data())
def test_sentences_that_are_not_held_out_are_counted_through(data: st.DataObject) -> None:
    population = data.draw(st.integers(1, 40))
    held_out = sorted(data.draw(st.sets(st.integers(0, population - 1))))
    rest = [number for number in range(population) if number not in held_out]
    found = sentence_numbers(np.arange(len(rest)), np.array(held_out, np.int64))
    assert found.tolist() == rest


@given(data=st.data())
def test_drawn_numbers_differ_and_nest(data: st.DataObject) -> None:
    population = data.draw(st.integers(1, 10**12))
    count = data.draw(st.integers(1, min(20, population)))
    drawn = draw_numbers(count, population).tolist()
    assert len(set(drawn)) == count
    assert all(0 <= number < population for number in drawn)
