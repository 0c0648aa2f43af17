import io
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError
from producers.datasets.folders import default_cache
from producers.datasets.text import lines
from producers.datasets.text.corpus import Corpus, index_files, open_corpus
from producers.datasets.text.lines import find_lines, first_line, lines_of_text, lines_of_wet
from tests.support.texts import wet

with io.BytesIO() as stream:
    np.save(stream, np.arange(2))
    OTHER_ARRAY = stream.getvalue()


def read_all(corpus: Corpus) -> list[str]:
    return corpus.sentences(np.arange(len(corpus)), 1_000)


def lines_of(path: Path) -> Corpus:
    return open_corpus([path], lines_of_text, "small")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_bytes("one\n\ntwo é\n".encode() + b"caf\xe9\nthree\n")
    return path


@given(sizes=st.lists(st.integers(0, 30), max_size=12), chunk=st.integers(1, 50))
def test_lines_span_what_is_read_at_once(tmp_path_factory, sizes, chunk):
    path = tmp_path_factory.getbasetemp() / "chunks"
    path.write_bytes(b"".join(b"x" * size + b"\n" for size in sizes))
    whole = lines_of_text(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_CHUNK_BYTES", chunk)
        pieces = lines_of_text(path)
    assert pieces.starts.tolist() == whole.starts.tolist()
    assert (pieces.empty, pieces.undecodable) == (whole.empty, whole.undecodable)
    assert len(whole.starts) == sum(size > 0 for size in sizes)


def test_skipped_lines_are_counted_and_the_index_is_kept(file, capfd):
    skipped = "skipped lines of small: 1 empty, 1 not UTF-8\n"
    for said in (f"indexing 1 file of small, once\n{skipped}", skipped):
        corpus = lines_of(file)
        assert read_all(corpus) == ["one", "two é", "three"]
        assert corpus.lines == 5
        assert capfd.readouterr().err == said
    file.write_text("some text\n", encoding="utf-16")
    with pytest.raises(DbtoolError, match="hold no sentence: 1 lines are empty, 1 not UTF-8"):
        lines_of(file)


def test_changed_file_is_indexed_anew(file):
    before = lines_of(file)
    file.write_text("another text\n")
    with pytest.raises(DbtoolError, match="text was changed while it was in use; start again"):
        read_all(before)
    assert read_all(lines_of(file)) == ["another text"]


def test_file_that_is_gone_is_named(file):
    corpus = lines_of(file)
    file.unlink()
    with pytest.raises(DbtoolError, match="text cannot be read: No such file"):
        read_all(corpus)
    with pytest.raises(DbtoolError, match="text cannot be read: No such file"):
        lines_of(file)
    os.mkfifo(file)
    with pytest.raises(DbtoolError, match="text cannot be read: it is not a file"):
        lines_of(file)


FILES = ["facts.json", "starts.npy", "blocks.npy"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [None, b"", b"{}", b"\x93NUMPY", OTHER_ARRAY])
def test_damaged_index_is_made_anew(tmp_path, name, content):
    path = tmp_path / "a.warc.wet.gz"
    path.write_bytes(wet([b"one\n"], compressed=True))
    damaged = index_files([path], lines_of_wet, "small")[0].folder / name
    damaged.unlink() if content is None else damaged.write_bytes(content)
    assert read_all(open_corpus([path], lines_of_wet, "small")) == ["one"]


def test_long_sentences_are_cut(tmp_path):
    path = tmp_path / "long"
    path.write_text("a" * 5_000 + "\n" + "b" * 3_000 + "\nc\n")
    corpus = lines_of(path)
    assert corpus.sentences(np.arange(3), 4_000) == ["a" * 4_000, "b" * 3_000, "c"]
    assert corpus.sentences(np.arange(3), 10) == ["a" * 10, "b" * 10, "c"]


def test_cache_that_cannot_be_written_is_named(file):
    default_cache().mkdir(parents=True)
    (default_cache() / "text").write_text("in the way")
    with pytest.raises(DbtoolError, match=r"npy cannot be written to .* make room or correct its"):
        lines_of(file)


def test_sentences_of_several_archives_come_in_any_order(tmp_path):
    paths, expected = [], []
    # The second one has no sentence.
    for archive, count in enumerate((50, 0, 50, 50)):
        pages = [[f"{archive} {page} {line}" for line in range(7)] for page in range(count)]
        expected += [line for page in pages for line in page]
        paths.append(tmp_path / f"{archive}.warc.wet.gz")
        content = wet(["\n".join(page).encode() for page in pages], compressed=archive > 0)
        paths[-1].write_bytes(content)
    corpus = open_corpus(paths, lines_of_wet, "small")
    assert read_all(corpus) == expected
    numbers = np.random.default_rng(0).integers(0, 1_050, 2_000)
    assert corpus.sentences(numbers, 100) == [expected[number] for number in numbers]
    assert corpus.sentences(np.array([], np.int64), 100) == []


PIECES = st.sampled_from(
    [b"", b"a", "é".encode(), "é".encode("latin-1"), b"\n", b" ", b"\r\n", b"\0", "漢".encode()]
)
CONTENTS = st.lists(PIECES, max_size=40).map(b"".join)


def naive(content: bytes) -> tuple[list[str], int, int]:
    """The sentences, empty and other lines, one line after another."""
    found, empty, undecodable = [], 0, 0
    lines = content.split(b"\n")
    for line in lines if lines[-1] else lines[:-1]:
        if all(code <= 32 for code in line):
            empty += 1
            continue
        try:
            text = line.decode()
        except UnicodeDecodeError:
            undecodable += 1
            continue
        if "\0" in text:
            undecodable += 1
        else:
            found.append(text.strip())
    return found, empty, undecodable


@given(content=CONTENTS)
def test_lines_are_those_found_one_by_one(content):
    lines = find_lines(content)
    texts = [first_line(content[start:], 1_000) for start in lines.starts]
    assert (texts, lines.empty, lines.undecodable) == naive(content)


@given(
    text=st.text(st.characters(codec="utf-8", exclude_characters="\n")), limit=st.integers(0, 30)
)
def test_long_lines_are_cut_between_characters(text, limit):
    cut = first_line(f"{text}\nanother".encode(), limit)
    assert len(cut.encode()) <= limit
    assert text.strip().startswith(cut)
