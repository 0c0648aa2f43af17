"""Values mean what they say: numbers as files have them, what is missing, and what is refused."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dbtool
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.sources.numbers import TRANSFORMS, narrow_bits, number, same, transformed, whole_number
from dbtool.sources.tables.mapping import StepColumn
from dbtool.store.table_files import RunsError
from tests.support.own_runs import load, mapping_text, query, read, trials, values

ERROR_AND_LOSS = {"val_classification_error": '"error"', "batch_cross_entropy_error": '"loss"'}
ACCURACY = {"val_classification_error": '{ column = "acc", transform = "1 - x" }'}
FILLED = [(200, 0.42), (400, 0.34)]


@pytest.mark.parametrize(
    ("rows", "status", "expected"),
    [
        # What was not logged at a step, as an outer join of data frames leaves it.
        ([(1.9, "NaN"), (1.8, 0.42), (1.7, "NaN"), (1.6, 0.34), (1.5, "NaN")], "COMPLETE", FILLED),
        ([(1.9, "NaN"), ("NaN", 0.42), (1.7, "NaN"), ("NaN", 0.34)], "COMPLETE", FILLED),
        ([(1.9, "null"), (1.8, 0.42), ("NaN", "null"), ("NaN", 0.34)], "INFEASIBLE", FILLED),
        ([(1.9, 0.5), ("NaN", "null"), (1.7, "null")], "COMPLETE", [(100, 0.5)]),
        ([(1.9, 0.42), ("NaN", 0.34)], "COMPLETE", [(100, 0.42), (200, 0.34)]),
        ([(1.9, 0.42), ("NaN", 0.9), ("NaN", 0.9)], "INFEASIBLE",
         [(100, 0.42), (200, 0.9), (300, 0.9)]),
        ([("NaN", 0.9), ("NaN", 0.9)], "INFEASIBLE", [(100, 0.9), (200, 0.9)]),
        # Evaluations at the end, of rows without a loss.
        ([(1.9, "NaN"), (1.8, "NaN"), ("NaN", 0.42), ("NaN", 0.34)], "COMPLETE",
         [(300, 0.42), (400, 0.34)]),
    ],
    ids=["an evaluation", "each beside the other", "diverged", "came back", "a last row",
         "diverged beside", "from the first", "at the end"],
)  # fmt: skip
def test_missing_is_not_diverged(tmp_path, rows, status, expected):
    text = "".join(
        f'{{"step": {100 * number}, "loss": {loss}, "error": {error}}}\n'
        for number, (loss, error) in enumerate(rows, start=1)
    )
    source = read(tmp_path, text, "jsonl", metrics=ERROR_AND_LOSS)
    assert values(source) == expected
    assert [trial.status for trial in trials(source)] == [status]


@pytest.mark.parametrize("given", ["train_steps", "status"])
def test_runs_that_stopped_past_their_goal_are_whole_for_it(tmp_path, given):
    files = {"run": '"run"', "ignore": '["state"]'}
    changes: Any = {"study": {"train_steps": "100"}, "files": files}
    if given == "status":
        changes = {"trial": {"status": '{ column = "state" }'}, "files": {"run": '"run"'}}
    header, c = "run,step,error,state\n", "c,10,0.5,COMPLETE\nc,100,0.2,COMPLETE\n"
    text = f"{header}a,10,0.5,INCOMPLETE\na,30,0.09,INCOMPLETE\n{c}"
    told = "1 of 2 runs stopped past the goal, which counts as COMPLETE; steps to a harder goal are"
    assert told in " ".join(read(tmp_path, text, **changes).sentences)
    # Again, and with one that was not as fast.
    more = f"{text}b,10,0.5,INCOMPLETE\nb,20,0.3,INCOMPLETE\nb,40,0.05,INCOMPLETE\n"
    for each in (text, more):
        load(tmp_path, {"1.csv": each}, **changes)
    assert query(tmp_path, "SELECT name, status FROM trials ORDER BY name") == [
        ("a", "COMPLETE"), ("b", "COMPLETE"), ("c", "COMPLETE")
    ]  # fmt: skip
    studies = "SELECT train_steps, early_stopping, stopped FROM studies"
    assert query(tmp_path, studies) == [(30, True, True)]
    # One that crashed counts no more than elsewhere.
    crashed = f"{text}d,10,0.5,INCOMPLETE\n"
    load(tmp_path, {"1.csv": crashed}, database="crashed", **changes)
    assert query(tmp_path, studies, "crashed") == [(30, True, True)]
    counts = "SELECT name, status FROM trials WHERE ordinal IS NULL"
    assert query(tmp_path, counts, "crashed") == [("d", "INCOMPLETE")]
    load(tmp_path, {"1.csv": header + c}, database="grown", **changes)
    told = "digits/mlp/sgd at batch size 32 stopped past the goal, and those that are there did not"
    with pytest.raises(RunsError, match=told):
        load(tmp_path, {"1.csv": text}, database="grown", **changes)


def test_status_follows_from_the_values_and_steps(tmp_path):
    text = "run,step,error\na,100,0.5\nb,90,0.5\nc,100,inf\nd,120,0.4\n"
    final = {"sampled": "true"}
    load(tmp_path, {"1.csv": text}, study={"train_steps": "100"}, files=final)
    assert query(tmp_path, "SELECT status FROM trials ORDER BY trial_id") == [
        ("COMPLETE",), ("INCOMPLETE",), ("INFEASIBLE",), ("COMPLETE",)
    ]  # fmt: skip
    # Nothing says how long a run should be: the shortest that is COMPLETE does.
    load(tmp_path, {"1.csv": text}, files=final, database="other")
    assert query(tmp_path, "SELECT train_steps FROM studies", "other") == [(90,)]
    # Tools do not say that a run which they saw stop, or finish, had diverged.
    for status in ("INCOMPLETE", "COMPLETE"):
        trial = {"status": f'"{status}"'}
        load(tmp_path, {"1.csv": text}, trial=trial, files=final, database=status)
        assert query(tmp_path, "SELECT status FROM trials ORDER BY trial_id", status) == [
            (status,), (status,), ("INFEASIBLE",), (status,)
        ]  # fmt: skip
    told = "1 of 4 runs given as COMPLETE ended with values that are not finite"
    source = read(tmp_path, text, files=final | {"run": '"run"'}, trial=trial)
    assert any(each.startswith(told) for each in source.sentences)


def test_odd_settings_and_losses_are_told(tmp_path):
    text = "run,step,loss,lr\na,100,2.5,-3\na,200,0.0,-3\nb,100,2.5,\nb,200,1.9,\n"
    source = read(
        tmp_path,
        text,
        files={"run": '"run"'},
        workload={"metric": '"val_cross_entropy_error"', "goal": "2.0"},
        metaparameters={"learning_rate": '{ column = "lr" }'},
        metrics={"val_classification_error": None, "val_cross_entropy_error": '"loss"'},
    )
    for told in (
        "1 of 2 runs came past the goal by a loss of exactly 0",
        "1 of 2 runs had no learning_rate, which others of the workload have",
        "1 of 2 runs had a learning_rate below 0",
    ):
        assert any(each.startswith(told) for each in source.sentences)


WIDER = [float(np.float32(each)) for each in (0.98, 0.99, 0.9913)]


@pytest.mark.parametrize("form", [repr, "{:.10f}".format], ids=["all digits", "ten digits"])
def test_narrow_floats_are_the_decimals_that_were_logged(tmp_path, form):
    rows = (f"{10 * number},{form(value)}\n" for number, value in enumerate(WIDER))
    text = f"step,acc\n{''.join(rows)}"
    source = read(tmp_path, text, metrics=ACCURACY)
    assert values(source) == [(0, 0.02), (10, 0.01), (20, 0.0087)]
    assert any("acc has numbers of 32 bits" in each for each in source.sentences)
    as_is = read(tmp_path, text, metrics=ACCURACY, files={"float32": "false"})
    assert values(as_is)[1][1] != 0.01


@given(st.lists(st.decimals(0, 100, places=3).map(float), min_size=3), st.sampled_from([16, 32]))
def test_narrow_floats_are_recognised(decimals, bits):
    kind = np.float16 if bits == 16 else np.float32
    # A thousandth is below what 16 bits hold of larger numbers, and few are shares as well.
    logged = [kind(each / 100 if bits == 16 else each) for each in [*decimals, 8.1, 70, 80, 90]]
    texts = pl.Series([repr(float(each)) for each in logged])
    assert narrow_bits(pl.DataFrame({"column": "x", "text": texts})).rows() == [("x", bits)]
    assert transformed(texts, None, bits=bits).to_list() == [float(str(each)) for each in logged]


@given(
    # Not as small as FLT_EPSILON, which hypothesis knows as C writes it: with ten digits.
    st.lists(st.floats(1e-6, 1).filter(lambda x: float(np.float32(x)) != x), min_size=1)
    | st.sampled_from([2**10, 2**13, 2**16, 50_000]).flatmap(
        lambda size: st.lists(st.integers(0, size).map(lambda each: each / size), min_size=1)
    )
    | st.lists(st.decimals(0, 1, places=5).map(float), min_size=1)
)
@example([0.9999999999999999])
def test_other_floats_are_left_alone(numbers):
    texts = [repr(each) for each in numbers]
    assert narrow_bits(pl.DataFrame({"column": "x", "text": texts})).is_empty()


def test_narrow_floats_are_those_of_a_run(tmp_path):
    runs = {"a": WIDER, "b": [0.9512345678912345, 0.97123456789], "c": [6191 / 8192, 7373 / 8192]}
    rows = [f"{run},{n},{x}\n" for run, found in runs.items() for n, x in enumerate(found)]
    text = f"run,step,acc\n{''.join(rows)}"
    source = read(tmp_path, text, metrics=ACCURACY, files={"run": '"run"'})
    assert [value for _, value in values(source)] == [0.02, 0.01, 0.0087]
    assert values(source, run=1)[0] == (0, 0.0487654321087655)
    # With all of their digits they are exact.
    assert values(source, run=2) == [(0, 2001 / 8192), (1, 819 / 8192)]


SEED = {"trial": {"seed": '{ column = "seed" }'}}
PERPLEXITY = {
    "metrics": {"val_cross_entropy_error": '"val_ppl"', "val_classification_error": None},
    "workload": {"metric": '"val_cross_entropy_error"'},
}
OTHER_ERROR = {
    "metrics": {"val_classification_error": '{ column = "val_err", transform = "1 - x / 100" }'}
}


@pytest.mark.parametrize(
    ("text", "changes", "sentence"),
    [
        ("step,error\n0,0.3\n9,0.05\n", {"workload": {"goal": "5"}},
         "the goal 5 is not a share from 0 to 1, as val_classification_error is; 5 % is 0.05"),
        ("step,val_acc\n0,0.09\n9,0.91\n", {"metrics": {"val_classification_error": '"val_acc"'}},
         ("the column 'val_acc' is accuracy by its name, and metrics.val_classification_error of "
         'the mapping takes it for another: give it transform = "1 - x", or rename the '
         'column where its name misleads')),
        ("step,val_err\n0,9\n9,1\n", OTHER_ERROR,
         "the column 'val_err' is error by its name, and … give it transform = \"x / 100\", or"),
        ("step,val_ppl\n0,9\n9,2\n", PERPLEXITY,
         "the column 'val_ppl' is perplexity by its name, and … give it transform = \"log(x)\","),
        ("_step,iter,error\n0,10,0.3\n1,20,0.05\n", {"files": {"step": '"_step"'}},
         ("'_step' counts the calls of wandb.log, and 'iter' the updates: say files.step = 'iter', "
         "or name 'iter' in files.ignore")),
        ("tokens,error\n52428800,0.3\n", {
            "files": {"step": '{ column = "tokens", divide = 4194304 }'}},
         "column 'tokens': '52428800' divided by 4194304 is not a step, a whole number"),
        ("step,error,seed\n0,0.3,1.6094379124341003e18\n", SEED,
         "column 'seed': seed is '1.6094379124341003e18', which a float has rounded: write all"),
        (f"step,error,seed\n0,0.3,{2**63}\n", SEED,
         "seed is \"9223372036854775808\", and should be a whole number from -9,223,372,036,854"),
        ("step,error\n0,0.3\n", {"top": {"release": None}}, "names no release: give one with --re"),
        ("step,error,user\n0,0.3,ann\n", {"metaparameters": {"user": '"?"'}},
         'metaparameters.user is "?", and should be a finite number, a truth or text, or a column'),
    ],
    ids=["a goal in percent", "an accuracy", "an error", "a perplexity", "calls", "tokens",
         "a rounded seed", "a long seed", "no release", "a question mark"],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(tmp_path, text, changes, sentence):
    with pytest.raises(DbtoolError) as error:
        read(tmp_path, text, **changes)
    assert all(part in str(error.value) for part in sentence.split(" … "))


def test_a_name_says_more_than_values(tmp_path):
    # An accuracy falls where training diverges, and by chance at the end.
    for accuracies in ((0.9, 0.1), (0.9, 0.9)):
        rows = "".join(f"{step},{each}\n" for step, each in enumerate(accuracies))
        with pytest.raises(DbtoolError, match='give it transform = "1 - x", or rename the column'):
            read(tmp_path, f"step,acc\n{rows}", metrics={"val_classification_error": '"acc"'})
    rises = read(tmp_path, "step,error\n0,0.1\n9,0.9\n")
    assert "is 'error' an accuracy?" not in " ".join(rises.sentences)
    top = {"val_classification_error": '"top"'}
    nameless = read(tmp_path, "step,top\n0,0.1\n9,0.9\n", metrics=top)
    assert "val_classification_error rises: is 'top' an accuracy?" in nameless.sentences


def test_a_goal_in_percent_is_refused_by_every_question(tmp_path):
    frame = pl.DataFrame({"run": ["a", "a"], "step": [0, 9], "error": [0.3, 0.05]})
    (tmp_path / "mapping.toml").write_text(mapping_text())
    # Any frame, such as of Arrow or one that is lazy; tests of tables have them all.
    for each in (frame.lazy(), frame.to_arrow()):
        dbtool.ingest(each, tmp_path / "db", mapping=tmp_path / "mapping.toml")
    assert query(tmp_path, "SELECT count(*) FROM measurements") == [(2,)]
    for source in (None, "csv", "keras", "mllog"):
        with pytest.raises(UsageError, match="a frame needs mapping=FILE, which says"):
            dbtool.ingest(frame, tmp_path / "db", source=source)
    ask: list[Callable[[Any], object]] = [
        lambda db: db.steps("*", goal=5),
        lambda db: db.scaling("*", goal=5),
        lambda db: dbtool.diff(db, db, goal=5),
    ]
    with dbtool.open(tmp_path / "db") as db:
        for question in ask:
            with pytest.raises(UsageError, match=r"the goal 5 is not a share .*; 5 % is 0\.05$"):
                question(db)


def _transformed(text: str, transform: str | None, *, bits: int | None = None) -> float | None:
    found = transformed(pl.Series([text]), transform, bits=bits)
    assert found.dtype == pl.Float64
    value: float | None = found.item()
    return value


# To Python some are numbers.
NO_NUMBERS = ("", "x", "1_0", "0x1", "٣", "1,5", "- 1", "true")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0), (" .5 ", 0.5), ("5.", 5.0), ("-1e-3", -0.001), ("1e400", math.inf), ("+2", 2.0),
        ("nan", math.nan), ("NaN", math.nan), ("inf", math.inf), ("-Infinity", -math.inf),
        *((text, None) for text in NO_NUMBERS),
    ],
)  # fmt: skip
def test_numbers(text, value):
    assert repr(number(text)) == repr(value) == repr(_transformed(text, None))
    if value is None or math.isnan(value):
        assert {repr(_transformed(text, transform)) for transform in TRANSFORMS} == {repr(value)}


@pytest.mark.parametrize(
    ("text", "times", "value"),
    [
        ("100", 1, 100), ("1e2", 1, 100), ("100.0", 1, 100), ("0.1", 10, 1), ("0.3", 10, 3),
        ("0.5", 1, None), ("nan", 1, None), ("1e30", 1, None), ("-3", 1, -3),
        ("1e999999999", 1, None), ("1_0", 1, None), ("٣", 1, None),
    ],
)  # fmt: skip
def test_whole_numbers(text, times, value):
    assert whole_number(text, times) == value


@pytest.mark.parametrize(
    ("text", "transform", "value"),
    [
        # Floats would give 0.09999999999999998, which is past a goal of 0.1.
        ("0.9", "1 - x", 0.1),
        ("8", "x / 100", 0.08),
        ("91.7", "1 - x / 100", 0.083),
        ("1", "log(x)", 0.0),
        ("1", "x * log(2)", 0.6931471805599453),
        ("0", "log(x)", -math.inf),
        ("inf", "log(x)", math.inf),
        ("-inf", "1 - x", math.inf),
        ("1e999999999", "x / 100", math.inf),
    ],
)
def test_transforms(text, transform, value):
    assert _transformed(text, transform) == value


@given(st.decimals(0, 1, allow_nan=False, places=6))
def test_one_minus_a_decimal_is_the_number_nearest_to_it(value):
    exact = 1 - Fraction(str(value))
    assert _transformed(str(value), "1 - x") == exact.numerator / exact.denominator


@given(st.text())
@example("0\x1f")  # blank to Python alone
@example("\N{NO-BREAK SPACE}1")
def test_any_text(text):
    for transform in (None, *TRANSFORMS):
        for bits in (None, 16, 32):
            found = _transformed(text, transform, bits=bits)
            assert (found is None) == (number(text) is None)


WHOLE = st.integers(-(2**62), 2**62)


@given(WHOLE, st.integers(1, 10**9))
def test_whole_numbers_are_exact_orrefused(number, divisor):
    count = number * divisor
    step = StepColumn.step(str(count), 0, 1, divisor)
    assert step == (number if 0 <= count < 2**63 else None)
    assert whole_number(repr(float(number))) in ({number} if abs(number) <= 2**53 else {None})


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4), st.integers(0, 3))
def test_equal_numbers_are_equal(number, zeros):
    written = f"{number:f}"
    spelled = [f"{written}{'0' * zeros}", f"{number:e}", f"{number:E}", repr(number)[9:-2]]
    assert len(set(map(same, spelled))) == 1


@pytest.mark.parametrize("text", ["007", "+1", "1_0", "1.", ".5", ""])
def test_other_texts_stay_as_they_are(text):
    assert same(text) == text
