from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from producers.datasets.text.lines import find_lines, first_line

PIECES = st.sampled_from(
    [b"", b"a", "é".encode(), "é".encode("latin-1"), b"\n", b" ", b"\r\n", b"\0", "漢".encode()]
)
CONTENTS = st.lists(PIECES, max_size=40).map(b"".join)


def test_known_lines_are_found() -> None:
    content = "one\n\ntwo é\n \t\r\n".encode() + "caf\xe9\n".encode("latin-1") + b"\0\nlast"
    lines = find_lines(content)
    assert lines.starts.tolist() == [0, 5, 23]
    assert [first_line(content[start:], 100) for start in lines.starts] == ["one", "two é", "last"]
    assert (lines.empty, lines.undecodable) == (3, 1)


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
def test_lines_are_those_found_one_by_one(content: bytes) -> None:
    lines = find_lines(content)
    texts = [first_line(content[start:], 1_000) for start in lines.starts]
    assert (texts, lines.empty, lines.undecodable) == naive(content)


@given(
    text=st.text(st.characters(codec="utf-8", exclude_characters="\n")), limit=st.integers(0, 30)
)
def test_long_lines_are_cut_between_characters(text: str, limit: int) -> None:
    cut = first_line(f"{text}\nanother".encode(), limit)
    assert len(cut.encode()) <= limit
    assert text.strip().startswith(cut)
