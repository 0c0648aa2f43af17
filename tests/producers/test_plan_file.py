"""Plan files: what they say, and the sentence for each thing that is wrong with one."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.errors import UsageError
from producers.lockstep.rule import LockstepRule
from producers.lockstep.words import Search, SearchWords
from producers.plan_file import PlanFile, PlannedSweep, read_plan
from producers.workloads.registry import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str | bytes], Path]

WORKLOAD = "mnist/fc_64_64_64/sgd"
SWEEP = f'[[sweep]]\nworkloads = ["{WORKLOAD}"]\n'
LONGEST = 2**63 - 1


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Write:
    path: Path = tmp_path_factory.mktemp("plans") / "plan.toml"

    def written(content: str | bytes) -> Path:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


def sentence(path: Path) -> str:
    """What is wrong with a plan."""
    with pytest.raises(UsageError) as caught:
        read_plan(path).studies()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_plan_says_how_studies_are_searched(write: Write) -> None:
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
    studies = read_plan(path).studies()
    assert [(each.batch_size, each.neighbour, each.least_trials) for each in studies] == [
        (16, None, 40),
        (1, 16, 24),
        (64, 16, 24),
        (256, 64, 24),
    ]
    assert {each.search for each in studies} == {LockstepRule(True, 40, 16, dropping=4.0)}
    assert {json.dumps(each.description()["search"]["dropping"]) for each in studies} == {"4"}


def test_known_plan(write: Write) -> None:
    path = write(
        """
        release = "measured"  # and a remark
        seed = 7

        [[sweep]]
        workloads = ["mnist/fc_64_64_64/sgd", "mnist/simple_cnn_base/*momentum"]
        batch_sizes = [64, 1]
        trials = 112
        feasible = 100

        [[sweep]]
        workloads = ["mnist/fc_1024/sgd"]
        batch_sizes = [1_024]
        trials = 36
        budget = 0.5

        [[sweep]]
        workloads = ["mnist/fc_128_128_128/sgd"]
        steps = 1000
        """
    )
    plan = read_plan(path)
    assert plan == PlanFile(
        path=path,
        release="measured",
        seed=7,
        sweeps=(
            PlannedSweep(
                ("mnist/fc_64_64_64/sgd", "mnist/simple_cnn_base/*momentum"), (64, 1), 112, 100
            ),
            PlannedSweep(("mnist/fc_1024/sgd",), (1_024,), 36, budget=0.5),
            PlannedSweep(("mnist/fc_128_128_128/sgd",), steps=1_000),
        ),
    )
    studies = plan.studies()
    assert [
        (each.name, each.least_trials, each.feasible_trials, each.train_steps)
        for each in studies[:7]
    ] == [
        # fewest + examples / B steps: 1,200 and 250,000 of the narrow network, 500 and 300,000 of
        # the convolutional ones, half of 1,000 and 150,000 of the wide one.
        ("mnist/fc_64_64_64/sgd at batch size 64", 112, 100, 5_107),
        ("mnist/fc_64_64_64/sgd at batch size 1", 112, 100, 251_200),
        ("mnist/simple_cnn_base/momentum at batch size 64", 112, 100, 5_188),
        ("mnist/simple_cnn_base/momentum at batch size 1", 112, 100, 300_500),
        ("mnist/simple_cnn_base/nesterov_momentum at batch size 64", 112, 100, 5_188),
        ("mnist/simple_cnn_base/nesterov_momentum at batch size 1", 112, 100, 300_500),
        ("mnist/fc_1024/sgd at batch size 1024", 36, 0, 574),
    ]
    last = studies[7:]
    assert tuple(each.batch_size for each in last) == WORKLOADS[last[0].workload.name].batch_sizes
    assert {(each.least_trials, each.feasible_trials, each.train_steps) for each in last} == {
        (100, 0, 1_000)
    }
    assert {each.release for each in studies} == {"measured"}
    assert not any(each.shared_batches or each.replacement for each in studies)


def test_seeds_are_those_of_the_command_line(write: Write) -> None:
    table = f"{SWEEP}batch_sizes = [64]\n"
    (study,) = read_plan(write(f'release = "x"\n{table}')).studies()
    # As in test_plan.py, worked with sha256sum from root seed 0.
    assert study.seed == 1_916_316_500
    (other,) = read_plan(write(f'release = "x"\nseed = 1\n{table}')).studies()
    assert other.seed != study.seed


def test_dtype_is_that_of_every_workload(write: Write) -> None:
    plan = read_plan(write(f'release = "x"\n{SWEEP}'))
    assert {each.workload.dtype for each in plan.studies("bfloat16")} == {"bfloat16"}
    assert {each.workload.dtype for each in plan.studies()} == {"float32"}


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["has no [[sweep]]; add one", f'workloads = ["{WORKLOAD}"]']),
        ('release = "x"', ["has no [[sweep]]"]),
        ('release = "x"\nsweep = []', ["has no [[sweep]]"]),
        ('release = "x"\n[sweep]\nworkloads = ["a"]', ["write [[sweep]] above each"]),
        ('release = "x"\nsweep = [1]', ["write [[sweep]] above each"]),
        ("release = x", ["is not TOML (Invalid value (at line 1, column 11)); correct it there"]),
        (b'release = "\xff"', ["is not TOML (", "utf-8"]),
        ("a = " + "[" * 100_000, ["is not TOML ("]),
        ("a = " + "9" * 10_000, ["is not TOML ("]),
        (SWEEP, ['release is missing; give it a name, such as "measured"']),
        (f"release = 1\n{SWEEP}", ["release is 1; give it a name"]),
        (f'release = " "\n{SWEEP}', ["release is ' '; give it a name"]),
        (f"release = true\n{SWEEP}", ["release is true; give it a name"]),
        (f'release = "x"\nseed = -1\n{SWEEP}', ["seed is -1; give it a whole number from 0 to"]),
        (f'release = "x"\nseed = 1.0\n{SWEEP}', ["seed is 1.0; "]),
        (f'release = "x"\nseed = 0x{"f" * 9_000}\n{SWEEP}', ["seed is an endless number; "]),
        (f'relase = "x"\n{SWEEP}', ["unknown key 'relase'; closest: release"]),
        (f'trials = 3\nrelease = "x"\n{SWEEP}', ["'trials'; it belongs into a [[sweep]]"]),
        (f'{SWEEP}release = "x"', [", [[sweep]] 1: ", "it belongs above the first [[sweep]]"]),
        ('release = "x"\n[[sweep]]', ["[[sweep]] 1: workloads is missing; give it a list"]),
        (f'release = "x"\n{SWEEP}trails = 3', ["unknown key 'trails'; closest: trials"]),
        (f'release = "x"\n{SWEEP}[sweep.more]', ["unknown key 'more'; closest: "]),
        ('release = "x"\n[[sweep]]\nworkloads = []', ["workloads is []; ", '["mnist/fc_*"]']),
        ('release = "x"\n[[sweep]]\nworkloads = "a"', ["workloads is 'a'; give it a list"]),
        ('release = "x"\n[[sweep]]\nworkloads = ["a", 1]', ["workloads is ['a', 1]; "]),
        (f'release = "x"\n{SWEEP}batch_sizes = []', ["batch_sizes is []; ", "[1, 64]"]),
        (f'release = "x"\n{SWEEP}batch_sizes = 8', ["batch_sizes is 8; give it a list"]),
        (f'release = "x"\n{SWEEP}batch_sizes = [8, 1, 8]', ["different whole numbers from 1"]),
        (f'release = "x"\n{SWEEP}batch_sizes = [0]', ["batch_sizes is [0]; "]),
        (f'release = "x"\n{SWEEP}batch_sizes = [1.0]', ["batch_sizes is [1.0]; "]),
        (f'release = "x"\n{SWEEP}batch_sizes = [true]', ["batch_sizes is [true]; "]),
        (f'release = "x"\n{SWEEP}trials = 0', ["trials is 0; ", "from 1 to 1,000,000"]),
        (f'release = "x"\n{SWEEP}trials = 1_000_001', ["trials is 1000001; "]),
        (f'release = "x"\n{SWEEP}trials = true', ["trials is true; "]),
        (f'release = "x"\n{SWEEP}feasible = -1', ["feasible is -1; ", "from 0 to 100,000"]),
        (f'release = "x"\n{SWEEP}feasible = 2020-01-01', ["feasible is datetime.date("]),
        (f'release = "x"\n{SWEEP}steps = 0', ["steps is 0; ", "from 1 to 100,000,000"]),
        (f'release = "x"\n{SWEEP}budget = nan', ["budget is nan; give it a number from 0 to 100"]),
        (f'release = "x"\n{SWEEP}budget = inf', ["budget is inf; "]),
        (f'release = "x"\n{SWEEP}budget = "1"', ["budget is '1'; "]),
        (f'release = "x"\n{SWEEP}budget = false', ["budget is false; "]),
        (f'release = "x"\n{SWEEP}steps = 2\nbudget = 1.0', ["steps and budget both say", "one"]),
        (f'release = "x"\n{SWEEP}search = "wide"', ["give it one of fixed, lockstep, window"]),
        (
            f'release = "x"\n{SWEEP}search = "window"\ndropping = 1',
            ["[[sweep]] 1: dropping is 1; give it a number above 1 up to 1,000"],
        ),
        (f'release = "x"\n{SWEEP}dropping = "4"', ["dropping is '4'; give it a number"]),
        (f'release = "x"\n{SWEEP}dropping = 4', ["[[sweep]] 1: dropping", "search with lockstep"]),
        (
            f'release = "x"\n{SWEEP}search = "window"\nfeasible = 3',
            ["[[sweep]] 1: search window adds trials by itself; leave out feasible"],
        ),
        (
            f'release = "x"\n{SWEEP}trials.{".a" * 5_000}'.replace("..", ".") + " = 1",
            ["trials is {"],
        ),
    ],
)
def test_what_no_plan_says_is_one_sentence(
    content: str | bytes, parts: list[str], write: Write
) -> None:
    path = write(content)
    said = sentence(path)
    assert said.startswith(str(path))
    assert all(part in said for part in parts), said
    assert len(said) < len(str(path)) + 300


def test_unknown_workload_names_its_table(write: Write) -> None:
    path = write(f'release = "x"\n{SWEEP}[[sweep]]\nworkloads = ["mnist/fc_1025/sgd"]')
    said = sentence(path)
    assert said.startswith(
        f"{path}, [[sweep]] 2: unknown workload 'mnist/fc_1025/sgd'; closest: mnist/fc_1024/sgd, "
    )
    assert "`dbtool produce --list`" in said


def test_batch_size_that_does_not_fit_names_its_table(
    write: Write,
) -> None:
    path = write(f'release = "x"\n{SWEEP}batch_sizes = [55_000, 55_001]')
    said = sentence(path)
    assert said.startswith(f"{path}, [[sweep]] 1: batch size 55001 does not fit {WORKLOAD}, which ")
    assert said.endswith("32768, 55000 (choose with batch_sizes)")


def test_study_that_is_named_twice_names_both_tables(
    write: Write,
) -> None:
    other = '[[sweep]]\nworkloads = ["mnist/fc_1024/sgd"]\n'
    path = write(f'release = "x"\n{SWEEP}{other}[[sweep]]\nworkloads = ["mnist/fc_64*/sgd"]')
    assert sentence(path) == (
        f"{path}, [[sweep]] 3: {WORKLOAD} at batch size 1 was named before, in [[sweep]] 1; "
        "leave one of them out"
    )
    path = write(f'release = "x"\n[[sweep]]\nworkloads = ["{WORKLOAD}", "mnist/fc_64_*/sgd"]')
    assert (
        "[[sweep]] 1: mnist/fc_64_64_64/sgd at batch size 1 was named before, in [[sweep]] 1; "
        in (sentence(path))
    )
    # The same workload at other batch sizes is another study.
    apart = f'release = "x"\n{SWEEP}batch_sizes = [1]\n{SWEEP}batch_sizes = [2]'
    assert [study.batch_size for study in read_plan(write(apart)).studies()] == [1, 2]


def test_file_that_is_not_there_names_the_closest(tmp_path: Path) -> None:
    absent = tmp_path / "plam.toml"
    assert sentence(absent) == f"there is no plan {absent}; name a TOML file with --plan"
    (tmp_path / "plan.toml").touch()
    assert sentence(absent) == (
        f"there is no plan {absent}; closest: {tmp_path / 'plan.toml'}; "
        "name a TOML file with --plan"
    )
    assert sentence(tmp_path) == (
        f"cannot read the plan {tmp_path}: Is a directory; name a TOML file with --plan"
    )
    below = tmp_path / "plan.toml" / "plan.toml"
    assert f"cannot read the plan {below}: Not a directory; " in sentence(below)


# JSON writes these as TOML does.
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\x7f", exclude_categories=["Cs"]), min_size=1
).filter(str.strip)
SWEEPS = st.builds(
    PlannedSweep,
    workloads=st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
    batch_sizes=st.none()
    | st.lists(st.integers(1, LONGEST), min_size=1, max_size=5, unique=True).map(tuple),
    trials=st.integers(1, 1_000_000),
    feasible=st.integers(0, 100_000),
    steps=st.integers(1, 100_000_000),
) | st.builds(
    PlannedSweep,
    workloads=st.just(("mnist/*",)),
    budget=st.floats(0, 100) | st.integers(0, 100),
    search=st.builds(
        SearchWords,
        search=st.none() | st.sampled_from(Search),
        dropping=st.none() | st.floats(1, 1_000, exclude_min=True),
        reaching=st.none() | st.integers(1, 1_000_000),
        wide_trials=st.none() | st.integers(1, 1_000_000),
        wide_at=st.none() | st.integers(1, LONGEST),
    ),
)


def toml(table: dict[str, Any]) -> str:
    return "".join(
        f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
        for key, value in table.items()
        if value is not None
    )


@given(TEXTS, st.integers(0, LONGEST), st.lists(SWEEPS, min_size=1, max_size=3))
def test_written_plans_come_back(
    write: Write, release: str, seed: int, sweeps: list[PlannedSweep]
) -> None:
    text = toml({"release": release, "seed": seed})
    for sweep in sweeps:
        table = asdict(sweep)
        table |= table.pop("search")
        # A table may say one of the two.
        del table["budget" if sweep.steps else "steps"]
        text += "[[sweep]]\n" + toml(table)
    path = write(text)
    assert read_plan(path) == PlanFile(path, release, tuple(sweeps), seed)


VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(0, 1e6) | TEXTS,
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(
    [
        "release",
        "seed",
        "replace",
        "goal",
        "workloads",
        "batch_sizes",
        "trials",
        "feasible",
        "steps",
        "budget",
        "search",
        "dropping",
        "wide_trials",
        "wide_at",
        "stesp",
    ]
)


@given(
    st.dictionaries(KEYS, VALUES | st.just([WORKLOAD]), max_size=4),
    st.lists(st.dictionaries(KEYS, VALUES | st.just([WORKLOAD]), max_size=4), max_size=2),
)
def test_other_values_are_a_plan_or_one_sentence(
    write: Write, top: dict[str, Any], tables: list[dict[str, Any]]
) -> None:
    path = write(toml(top) + "".join("[[sweep]]\n" + toml(table) for table in tables))
    try:
        assert read_plan(path).studies()
    except UsageError as error:
        said = str(error)
    else:
        return
    assert said.startswith(str(path))
    assert "\n" not in said


@given(st.binary() | st.text().map(str.encode))
def test_other_files_are_one_sentence(write: Write, content: bytes) -> None:
    path = write(content)
    assert str(path) in sentence(path)
