"""Archives of any bytes: no traceback, and no harm to what is stored."""

import csv
import io
import json
import re
import tarfile
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dbtool.sources.archive.measurements import TrialText, parse_measurements
from dbtool.sources.archive.study import StudyDescription, TrialDescription, parse_description
from dbtool.sources.base import MalformedError
from tests.support.archives import (
    HEADER,
    LINES,
    STUDY,
    imported,
    metadata_json,
    small_study,
    write_tar,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
NUMBERS = st.one_of(
    st.floats().map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=6).map(str),
    st.sampled_from(
        ["", "nan", "-NaN", "inf", "-Infinity", "1e400", "1e-400", ".5", "5.", "+1", "1_0", "0x1"]
    ),
    st.sampled_from(
        ["null", "NA", " 1", "1 ", "'1'", '"1"', "1,", "#1", "٣", "-", "e5", "1e", "\ufeff1"]
    ),
)
FUZZ = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@FUZZ
@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_json_of_any_bytes(body):
    for kind in (StudyDescription, TrialDescription):
        with pytest.raises(MalformedError):
            parse_description(kind, "x", body, "32")


@FUZZ
@given(st.sampled_from(["trial_id", "status", "steps", "parameters"]), JSON)
def test_metadata_with_any_value(key, value):
    body = metadata_json(1, **{key: value})
    try:
        found = parse_description(TrialDescription, "x", body, "1")
    except MalformedError:
        return
    assert found.trial_id == 1
    assert 0 <= found.steps < 2**63
    assert all(isinstance(each, float) for each in found.parameters.values())


@FUZZ
@given(st.binary())
@example(b"step\n1\n\n2\n")
@example(b'step,"a,b"\n1,2\n')
@example(b"step\r1\r")
@example(b"\n\x00")
def test_measurements_of_any_bytes(body):
    check_alone_and_together([LINES.encode(), body, body])


@FUZZ
@given(
    st.lists(
        st.tuples(st.sampled_from(["0", "1", "20", "-3", "1.0", "1e3", "", "x"]), NUMBERS, NUMBERS),
        max_size=5,
    ),
    st.sampled_from(["\n", "\r\n", "\n\n", "\r", "\n ", ",\n"]),
    st.booleans(),
)
def test_measurements_of_any_fields(rows, newline, ended):
    text = HEADER + newline.join(map(",".join, rows)) + (newline if ended else "")
    check_alone_and_together([LINES.encode(), text.encode(), LINES.encode()])


def check_alone_and_together(bodies: list[bytes]) -> None:
    """Asserts that files give the same rows and errors together as alone, and right ones."""
    texts = [TrialText(number, f"{number}.csv", body) for number, body in enumerate(bodies)]
    together = parse_measurements(texts)
    rows = together.table.to_pylist()
    malformed = {error.path: error.reason for error in together.malformed}
    for text in texts:
        alone = parse_measurements([text])
        assert [error.reason for error in alone.malformed] == [
            reason for path, reason in malformed.items() if path == text.path
        ]
        assert alone.sound == together.sound & {text.trial_id}
        own = [row for row in rows if row["trial_id"] == text.trial_id]
        expected = [] if text.path in malformed else read_slowly(text.body)
        assert str([(row["step"], *values(row)) for row in own]) == str(expected)


def values(row: dict[str, Any]) -> list[float | None]:
    """The metrics of a row that are there, in the order of `read_slowly`."""
    others = json.loads(row.get("other_metrics") or "{}")
    known = {name: value for name, value in row.items() if name.count("_") > 1}
    # Numbers that JSON lacks are words there.
    return [float(value) for _, value in sorted((known | others).items()) if value is not None]


def read_slowly(body: bytes) -> list[tuple[int | float | None, ...]]:
    """The rows of a sound file, read without the code under test; missing values left out."""
    lines = [
        line
        for line in csv.reader(io.StringIO(body.decode("utf-8-sig"), newline=""))
        if any(field.strip() for field in line) or len(line) > 1
    ]
    if not lines:
        return []
    names = [re.sub("^(train|val|test)/", r"\1_", name.strip()) for name in lines[0]]
    at = names.index("step")
    rows: list[tuple[int | float | None, ...]] = []
    for line in lines[1:]:
        cells = [cell.strip().removeprefix("\ufeff") for cell in line]
        metrics = sorted(
            (name, cell) for n, (name, cell) in enumerate(zip(names, cells, strict=True)) if n != at
        )
        step = int(float(cells[at])) if not cells[at].lstrip("+-").isdigit() else int(cells[at])
        rows.append((step, *(float(cell) for _, cell in metrics if cell)))
    return sorted(rows, key=lambda row: row[0] or 0)


@FUZZ
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
            | st.sampled_from(
                [f"{STUDY}/1/metadata.json", f"../{STUDY}/study.json", "//study.json", "a//b/./1"]
            ),
            st.binary(max_size=40),
            st.sampled_from([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE]),
        ),
        max_size=4,
    )
)
def test_members_of_any_name(tmp_path, members):
    path = tmp_path / "a.tar"
    first = [
        (name, body if kind == tarfile.REGTYPE else b"", {"type": kind})
        for name, body, kind in members
    ]
    report = imported(write_tar(path, small_study(LINES), first=first), tmp_path / "db")
    assert report.failure is None
    assert {each.name for each in tmp_path.iterdir()} <= {"a.tar", "db", "db.wal"}
    assert str(tmp_path) not in str(report.malformed)
