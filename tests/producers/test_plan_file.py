"""Plan files: what they say, and the sentence for each thing that is wrong with one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.errors import UsageError
from producers.configuration import Plan, Sweep
from producers.lockstep import LockstepRule
from tests.support.sweeps import studies_of

Write = Callable[[str], Path]
WORKLOAD = "mnist/fc_64_64_64/sgd"
SWEEP = f'[[sweep]]\nworkloads = ["{WORKLOAD}"]\n'
PLAN = f'release = "x"\n{SWEEP}'


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Write:
    path: Path = tmp_path_factory.mktemp("plans") / "plan.toml"

    def written(content: str) -> Path:
        path.write_text(content, encoding="utf-8")
        return path

    return written


def sentence(path: Path) -> str:
    """What is wrong with a plan."""
    with pytest.raises(UsageError) as caught:
        studies_of(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_plan_says_how_studies_are_searched(write):
    path = write(
        f"""
        release = "measured"
        {SWEEP}
        batch_sizes = [16, 1, 64, 256]
        trials = 24
        search = "window"
        wide_trials = 40
        wide_at = 16
        dropping = 4
        """
    )
    studies = studies_of(path)
    assert [(each.batch_size, each.neighbour, each.least_trials) for each in studies] == [
        (16, None, 40),
        (1, 16, 24),
        (64, 16, 24),
        (256, 64, 24),
    ]
    assert {each.search for each in studies} == {LockstepRule(True, 40, 16, dropping=4.0)}
    searches = [each.study().search or {} for each in studies]
    # As on the command line, where it is a number with a fraction.
    assert {json.dumps(search["dropping"]) for search in searches} == {"4.0"}


def test_dtype_is_that_of_every_workload(write):
    path = write(f'release = "x"\n{SWEEP}')
    for dtype in ("bfloat16", "float32"):
        assert {each.workload.dtype for each in studies_of(path, dtype=dtype)} == {dtype}


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (SWEEP, ["it has no release"]),
        (f"{PLAN}trails = 3", ['sweep.0 knows no "trails"; closest: trials']),
        ('release = "x"\n[[sweep]]\nworkloads = []', ["workloads is [], ", '["mnist/fc_*"]']),
        (f"{PLAN}batch_sizes = [8, 1, 8]", ["batch_sizes has one of them twice"]),
        (
            f'{PLAN}search = "lockstep"\nwide_at = 4',
            ["sweep.0: wide_at says how to go about search window"],
        ),
        (
            f'{PLAN}[[sweep]]\nworkloads = ["mnist/fc_1025/sgd"]',
            [
                ", [[sweep]] 2: unknown workload 'mnist/fc_1025/sgd'; closest: mnist/fc_1024/sgd, ",
                "`dbtool produce --list`",
            ],
        ),
        (
            f"{PLAN}batch_sizes = [55_000, 55_001]",
            [f", [[sweep]] 1: batch size 55001 does not fit {WORKLOAD}, which has 55000 training"],
        ),
    ],
)
def test_what_no_plan_says_is_one_sentence(content, parts, write):
    path = write(content)
    message = sentence(path)
    assert message.startswith(f"the plan {path}")
    assert all(part in message for part in parts), message
    assert len(message) < len(str(path)) + 400


def test_study_that_is_named_twice_names_both_tables(write):
    other = '[[sweep]]\nworkloads = ["mnist/fc_1024/sgd"]\n'
    path = write(f'release = "x"\n{SWEEP}{other}[[sweep]]\nworkloads = ["mnist/fc_64*/sgd"]')
    assert sentence(path) == (
        f"the plan {path}, [[sweep]] 3: {WORKLOAD} at batch size 1 was named before, in "
        "[[sweep]] 1; leave one of them out"
    )
    path = write(f'release = "x"\n[[sweep]]\nworkloads = ["{WORKLOAD}", "mnist/fc_64_*/sgd"]')
    assert f"[[sweep]] 1: {WORKLOAD} at batch size 1 was named before, in " in sentence(path)
    # The same workload at other batch sizes is another study.
    apart = f'release = "x"\n{SWEEP}batch_sizes = [1]\n{SWEEP}batch_sizes = [2]'
    assert [study.batch_size for study in studies_of(write(apart))] == [1, 2]


# JSON writes these as TOML does.
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\x7f", exclude_categories=["Cs"]), min_size=1
).filter(str.strip)


def toml(table: dict[str, Any]) -> str:
    return "".join(
        f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
        for key, value in table.items()
        if value is not None
    )


VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(0, 1e6) | TEXTS,
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(["stesp", *Plan.__struct_fields__, *Sweep.__struct_fields__])


@given(
    st.dictionaries(KEYS, VALUES | st.just([WORKLOAD]), max_size=4),
    st.lists(st.dictionaries(KEYS, VALUES | st.just([WORKLOAD]), max_size=4), max_size=2),
)
def test_other_values_are_a_plan_or_one_sentence(write, top, tables):
    path = write(toml(top) + "".join("[[sweep]]\n" + toml(table) for table in tables))
    try:
        assert studies_of(path)
    except UsageError as error:
        sentence = str(error)
    else:
        return
    assert sentence.startswith(f"the plan {path}")
    assert "\n" not in sentence
