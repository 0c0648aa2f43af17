"""Numbers, JSON and TOML as checked values, and the sentences about those that are not right."""

import math
import os
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from msgspec import Meta, Struct

from dbtool.core.checks import InvalidError, parse_json, read_toml, require_number, require_whole
from dbtool.core.errors import UsageError


class Part(Struct, forbid_unknown_fields=True):
    """A part of a plan."""

    steps: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    rate: Annotated[float, Meta(gt=0, description="a rate such as 0.1")] = 1.0
    kind: Literal["a", "b"] = "a"
    names: list[Annotated[str, Meta(min_length=1)]] = []

    def __post_init__(self) -> None:
        if self.kind == "b" and not self.names:
            raise ValueError("b needs names")


class Plan(Struct):
    """A plan with parts."""

    first: Part | str
    others: dict[Literal["x", "y"], Part] = {}


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (b'{"first": {"steps": -1}}', "first.steps is -1, and should be a whole number from 0"),
        (b'{"first": {}}', "first has no steps"),
        (b'{"first": {"steps": 1, "rat": 2}}', 'first knows no "rat"; closest: rate'),
        (b'{"first": {"steps": 1, "rate": 0}}', "first.rate is 0, and should be a rate such as"),
        (b'{"first": {"steps": 1, "kind": "c"}}', 'first.kind is "c", and should be one of a, b'),
        (b'{"first": {"steps": 1, "kind": "b"}}', "first: b needs names"),
        (b'{"first": {"steps": 1, "names": ["a", ""]}}', 'first.names.1 is "", and should be text'),
        (b'{"first": 3}', "first is 3, and should be a table of names and values, or text"),
        (b'{"first": "", "others": {"z": {}}}', 'others knows no "z"; closest: x, y'),
        (
            b'{"first": "", "others": {"y": {"steps": "\\u001b"}}}',
            r'others.y.steps is "\u001b", and',
        ),
        (b'{"first": ' * 100_000, "it is not readable JSON"),
        (b"9" * 5000, "it is not readable JSON"),
    ],
)
def test_sentences(value, sentence):
    with pytest.raises(InvalidError) as error:
        parse_json(value, Plan)
    assert str(error.value).startswith(sentence)
    assert str(error.value).isprintable()


def test_what_other_programs_write():
    """Numbers that JSON lacks, whole ones with a decimal point, a mark of the byte order."""
    found: dict[str, Any] = parse_json(
        b'\xef\xbb\xbf{"a": NaN, "b": -Infinity, "c": 1e999, "d": 2}', dict[str, float]
    )
    assert math.isnan(found.pop("a"))
    assert found == {"b": -math.inf, "c": math.inf, "d": 2.0}
    assert parse_json(b'{"steps": 1e3}', Part).steps == 1000
    assert parse_json(b'{"steps": 10.0}', Part).steps == 10


def test_toml(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text("[first]\nsteps = 3\n")
    assert read_toml(path, Plan, "plan") == Plan(Part(3))
    os.mkfifo(tmp_path / "pipe")
    for name, text, sentence in (
        ("plan.toml", "first.steps = -3", f"the plan {path}: first.steps is -3, and should be "),
        ("plan.toml", "first = ", f"the plan {path} is no TOML: "),
        ("plan.toml", "first = \udcff", f"the plan {path} is no TOML: "),
        ("none.toml", None, f"cannot read the plan {tmp_path / 'none.toml'}: No such file"),
        ("pipe", None, f"cannot read the plan {tmp_path / 'pipe'}: it is not a file"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text, errors="surrogateescape")
        with pytest.raises(UsageError) as error:
            read_toml(tmp_path / name, Plan, "plan")
        assert str(error.value).startswith(sentence)


def test_whole_numbers_of_any_kind_become_ints_and_no_others():
    for value in (3, np.int64(3), np.uint8(3), True + 2):
        assert type(require_whole("trials", value)) is int
        assert require_whole("trials", value) == 3
    for other in (2.0, np.float64(2), "2", None, 0, -1, [1]):
        with pytest.raises(UsageError, match=r"trials is .*, and should be a whole number from 1$"):
            require_whole("trials", other)


def test_finite_numbers_of_any_kind_become_floats_and_no_others():
    for value in (0.5, 1, np.float32(0.5), np.int64(1)):
        assert type(require_number("level", value, 0.5, 1)) is float
    for other in (math.nan, math.inf, "1", None, [1], 10**400):
        with pytest.raises(UsageError, match=r"goal is .*, and should be a finite number$"):
            require_number("goal", other)
    with pytest.raises(UsageError, match=r"goal is 3, and should be a number from 1 to 2$"):
        require_number("goal", 3, 1, 2)
