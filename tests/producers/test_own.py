"""Workloads of the user's own: what a file registers, and a sentence for what is wrong in it."""

import hashlib
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.own_code import blaming_own_code
from producers.configuration import SweepOptions
from producers.datasets.forms import ImageForm, TextForm
from producers.datasets.registry import DATASETS, checked
from producers.datasets.split import Dataset, Request, Split
from producers.estimate import held_out_examples
from producers.models.registry import MODELS
from producers.plan import StudyPlan
from producers.sweep.data import with_own_data
from producers.sweep.run import partition
from producers.sweep.session import StudySession
from producers.training.optimizers import OPTIMIZERS
from producers.training.step import trainer
from producers.workloads.batch_schedule import scheduled
from producers.workloads.definition import Origin
from producers.workloads.own import load_own
from producers.workloads.presets import find_preset, preset_data
from producers.workloads.registry import WORKLOADS, find_workloads
from producers.workloads.replace import parse_replacement
from producers.workloads.settings import settings
from tests.support.own_workload import FILE, NAME, TRAIN_EXAMPLES
from tests.support.sweeps import (
    footer,
    planned,
    shards,
    small_study,
    studies_of,
    sweep,
    sweep_all,
)

pytestmark = pytest.mark.usefixtures("registries_as_before")


def changed(path: Path, old: str, new: str) -> Path:
    """The file with one thing in another way."""
    assert old in FILE
    path.write_text(FILE.replace(old, new))
    return path


def line_of(text: str) -> str:
    """The number of the line of the file in which a text stands."""
    return str(FILE[: FILE.index(text)].count("\n") + 1)


def study(path: Path) -> StudyPlan:
    (found,) = planned(load_own(path)[0], batch_sizes=[4], steps=2)
    return found


def test_what_a_file_lists_joins_what_is_known(path):
    (workload,) = load_own(path)
    assert load_own(path) == [workload]
    assert find_workloads(["stripes/*"]) == [workload] == [WORKLOADS[NAME]]
    assert MODELS[workload.model].name == "slope"
    assert workload.origin == Origin("mine.py", hashlib.sha256(FILE.encode()).hexdigest())
    # The default is the study that the package began with, which this is not of.
    assert workload.paper is None
    assert workload.definition()["origin"]["sha256"] == workload.origin.sha256
    assert all("origin" not in each.definition() for each in WORKLOADS.values() if not each.origin)
    assert {each.certainty for each in settings(workload)} == {"chosen"}


def test_a_file_brings_a_schedule_of_optax(path):
    schedule = """MODELS = [MODEL]
from producers.own import ScheduleDefinition
warm_up = optax.linear_schedule(0.0, 1.0, 10)
SCHEDULES = [ScheduleDefinition("warm_up", lambda m, step: m["learning_rate"] * warm_up(step))]
"""
    text = FILE.replace("MODELS = [MODEL]\n", schedule).replace('"constant"', '"warm_up"')
    path.write_text(text)
    (workload,) = load_own(path)
    functions = trainer(workload.model, workload.optimizer, workload.schedule, workload.form)
    rates = [
        functions.schedule.rate({"learning_rate": jnp.float32(0.5)}, step)
        for step in map(jnp.int32, (4, 90))
    ]
    assert rates == [pytest.approx(0.2), pytest.approx(0.5)]
    # It knows no budget, so that trials may stop early.
    (searched,) = planned(workload, batch_sizes=[4], search="lockstep")
    assert searched.search is not None
    with pytest.raises(UsageError, match="changes its learning rate with the number of updates"):
        scheduled(workload, "2@5")


# What is changed in the file, and parts of the sentence.
MISTAKES = [
    ('"slope", Slope', '"fc_7", Slope', ["mine.py: the model fc_7 is known already"]),
    ('"constant"', '"linear"', ["unknown learning-rate schedule 'linear'; closest: linear_decay"]),
    ("RULE.search_space", "()", ["searches nothing, and its", "need learning_rate, nudge"]),
    ('"val_class', '"vall_class', ["unknown metric 'vall_classification_error'; closest: val_"]),
    (
        "maximize=False",
        "maximize=True",
        [f"{NAME} needs maximize=False by its metric val_", "rises ends in accuracy"],
    ),
    ('dataset="stripes"', 'dataset="mnist"', ["gives other data the name mnist; give it its own"]),
    ("goal=0.1", 'goal="low"', ['goal is "low", and should be a number']),
    ("goal=0.1", "goal=math.inf", [f"{NAME} holds a number that is not finite"]),
    (
        "goal=0.1",
        'goal=0.1, sparsity=0.9, pruning="magnitude"',
        [f"the pruning of {NAME} is 'magnitude', and should be None, 'snip' or 'snip_with_biases'"],
    ),
    ("goal=0.1", "goal=0.1, sparsity=0.9", ["sparsity=0.9 and pruning=None; give both where"]),
    ("goal=0.1", 'goal=0.1, pruning="snip"', ["sparsity=0.0 and pruning=snip; give both where"]),
    ("(2, 4)", "[2, 4]", ["holds a list or dictionary; write tuples"]),
    ("(2, 4)", "()", ["has no batch_sizes"]),
    (
        "goal=0.1",
        "goal=0.1, batch_schedule=((5, 2), (3, 4))",
        [f"the batch schedule of {NAME} has step 3 after step 5; its steps should increase"],
    ),
    ("form=FORM", "form=None", [f"the form of {NAME} is not of type ImageForm or TextForm"]),
    ('"stripes": load', '"stripes": 3', ["DATASETS gives stripes no function, but 3"]),
    ("MODELS = [", "MODELS = [1, ", ["MODELS holds 1, and should hold ModelDefinitions"]),
    ("MODELS = [MODEL]", "MODELS = [MODEL, MODEL]", ["MODELS has slope twice"]),
    ("WORKLOADS =", "WORKLOAD =", ["it lists no WORKLOADS"]),
    ("import math", "import math math", ["mine.py, line LINE: SyntaxError: invalid syntax"]),
    ("Range(0.1,", "Range(9,", [", line LINE: ValueError: the range 9 to 1.0 is empty"]),
]


@pytest.mark.parametrize(("old", "new", "parts"), MISTAKES)
def test_what_is_wrong_is_one_sentence_and_registers_nothing(old, new, parts, path):
    before = [set(each) for each in (MODELS, OPTIMIZERS, DATASETS, WORKLOADS)]
    with pytest.raises(DbtoolError) as caught:
        load_own(changed(path, old, new))
    sentence = str(caught.value)
    assert sentence.startswith(str(path))
    assert "\n" not in sentence
    assert all(part.replace("LINE", line_of(old)) in sentence for part in parts), sentence
    assert [set(each) for each in (MODELS, OPTIMIZERS, DATASETS, WORKLOADS)] == before


def test_a_file_takes_nothing_from_another(path, tmp_path):
    load_own(path)
    other = tmp_path / "other.py"
    other.write_text(FILE.replace("MODELS = [MODEL]", "").replace('"stripes"', '"dots"'))
    with pytest.raises(UsageError, match=r"other\.py: the optimizer rule is known already"):
        load_own(other)
    other.write_text(other.read_text().replace('"rule"', '"law"'))
    with pytest.raises(UsageError, match=r"other\.py: unknown model 'slope'"):
        load_own(other)


def test_a_plan_finds_the_file_beside_it(path):
    plan = path.with_name("plan.toml")
    plan.write_text(f'release = "x"\nfrom = "{path.name}"\n[[sweep]]\nworkloads = ["{NAME}"]\n')
    assert [each.key for each in studies_of(plan)] == [(NAME, 2), (NAME, 4)]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match=r"cannot read .*mine\.py: No such file"):
        load_own(tmp_path / "mine.py")


# What fails when it is called, and in which line.
FAILURES = [
    ("len(images), -1", "-1", "line LINE: TypeError: dot_general requires"),
    ("images.classes, ", "images.classes + 1, ", "the model slope returns logits (2, 3) of 2"),
    ("    return optax", "    optax", "mine.py (sha256 "),
    (
        'optax.scale_by_lion(m["nudge"])',
        "optax.GradientTransformation(lambda w: m, lambda g, held, w: (g, (held, held)))",
        "a step changes the shape or type of what slope or rule carry from one to the next",
    ),
    (
        "train_examples=12",
        "train_examples=13",
        "the loader of stripes returned 12 training examples of ImageForm(",
    ),
    ("np.arange(24) % 2", "np.ones(24, int)", "of stripes/slope/rule are all of class 1: check"),
    ("return Dataset", "Dataset", "the loader of stripes returned None, which is not a Dataset"),
]


@pytest.mark.parametrize(("old", "new", "part"), FAILURES)
def test_what_fails_later_is_one_sentence_with_its_line(old, new, part, path):
    planned_study = study(changed(path, old, new))
    with pytest.raises(DbtoolError) as caught, blaming_own_code():
        StudySession(planned_study, SweepOptions())
    assert part.replace("LINE", line_of(old)) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_errors_of_this_package_are_not_blamed_on_the_file(path):
    load_own(path)
    with pytest.raises(ZeroDivisionError), blaming_own_code():
        _ = 1 / 0


FORM = ImageForm(height=2, width=3, channels=3, classes=4)
TEXTS = TextForm(vocabulary=9, length=5, evaluation_length=7)
SEVERAL = replace(FORM, multi_label=True)


def split(form: ImageForm | TextForm, count: int = 6) -> Split:
    """Examples of a form, the targets as large as it allows."""
    if isinstance(form, TextForm):
        return Split(*2 * [np.full((count, form.length), form.vocabulary - 1, np.int32)])
    shape, largest = ((count, 4), 1) if form.multi_label else ((count,), 3)
    return Split(np.zeros((count, 2, 3, 3), np.uint8), np.full(shape, largest, np.uint8))


@pytest.mark.parametrize("form", [FORM, SEVERAL, TEXTS])
def test_arrays_of_the_form_pass_and_others_do_not(form):
    right = Dataset("x", form, split(form), split(form.evaluated), split(form.evaluated))
    request = Request("x", form, train_examples=6)
    assert checked(right, request) is right
    held_out = right.test
    assert isinstance(held_out, Split)
    for wrong in (
        Split(held_out.inputs[:, :-1], held_out.targets),
        Split(held_out.inputs.astype(np.int64), held_out.targets),
        Split(held_out.inputs[:0], held_out.targets[:0]),
        Split(held_out.inputs, held_out.targets[:-1]),
        Split(held_out.inputs, held_out.targets[..., np.newaxis]),
        Split(held_out.inputs, held_out.targets.astype(float)),
        Split(held_out.inputs, held_out.targets + 1),
        Split(held_out.inputs, held_out.targets.astype(np.int8) - 99),
    ):
        with pytest.raises(DbtoolError, match="of x the examples of test have "):
            checked(replace(right, test=wrong), request)
    with pytest.raises(DbtoolError, match="the loader of x returned 6 training examples of"):
        checked(replace(right, form=replace(FORM, classes=5)), request)


def test_the_code_is_recorded_and_other_code_goes_not_on(made_up_mnist, tmp_path):
    plain = small_study(steps=2)
    first, second = (
        replace(plain, workload=replace(plain.workload, origin=Origin("mine.py", digest * 64)))
        for digest in "ab"
    )
    sweep(first, tmp_path, made_up_mnist, trials=2)
    (path,) = shards(tmp_path)
    recorded = {"name": "mine.py", "sha256": "a" * 64, "version": None}
    assert footer(path, "producer")["origin"] == recorded
    assert footer(path, "study")["workload"]["definition"]["origin"] == recorded
    for other, code in ((second, "mine.py (sha256 bbbbbbbb)"), (plain, "this package")):
        with pytest.raises(DbtoolError) as caught:
            sweep(other, tmp_path, made_up_mnist, trials=4)
        assert (
            "was trained with the code of mine.py (sha256 aaaaaaaa) and not with that of "
            f"{code}, which is given; go on with that code, or write this sweep into another folder"
        ) in str(caught.value)
    assert sweep(first, tmp_path, made_up_mnist, trials=4) == [(2, 3)]
    letters = {partition([each], SweepOptions()) for each in (plain, first, second)}
    assert len(letters) == 3


def test_its_data_are_recorded_and_other_data_go_not_on(path, tmp_path):
    file = tmp_path / "labels.npy"
    path.write_text(FILE.replace("np.arange(24) % 2", f"np.load({str(file)!r})"))
    labels, options = np.arange(24) % 2, SweepOptions(block=1, datasets=tmp_path)
    np.save(file, labels)
    plain = study(path)
    older, newer = tmp_path / "older", tmp_path / "newer"

    def goes_on(out: Path, trials: int) -> list[tuple[int, ...]]:
        planned = with_own_data([replace(plain, least_trials=trials)], out, options)
        return sweep_all(planned, out, None, options)

    assert goes_on(newer, 1) == [(0,)]
    sweep_all([replace(plain, least_trials=1)], older, None, options)
    images = np.stack([np.indices((4, 4))[axis] % 2 * 255 for axis in range(2)])[labels]
    lines = ""
    for name, first, end in (("test", 18, 24), ("train", 0, 12), ("validation", 12, 18)):
        content = b"|u1 (%d, 4, 4)\n" % (end - first) + images[first:end].astype("u1").tobytes()
        content += b"<i8 (%d,)\n" % (end - first) + labels[first:end].tobytes()
        lines += f"{name}={hashlib.sha256(content).hexdigest()}\n"
    (shard,) = shards(newer)
    recorded = footer(shard, "study")["workload"]["definition"]["data_sha256"]
    assert recorded == hashlib.sha256(lines.encode()).hexdigest()
    np.save(file, labels[::-1])
    with pytest.raises(DbtoolError) as caught:
        goes_on(newer, 2)
    assert (f"was trained on the data of sha256 {recorded[:8]} and not on those of sha256 ") in str(
        caught.value
    )
    # A machine with other data than the one that planned it.
    changed = with_own_data([plain], tmp_path / "none", options)
    np.save(file, labels)
    with pytest.raises(DbtoolError, match="stripes returned other examples than when the command"):
        StudySession(changed[0], options)
    assert goes_on(newer, 2) == [(1,)]
    # Begun by a version that recorded no digest.
    assert goes_on(older, 2) == [(1,)]
    assert all("data_sha256" not in each.definition() for each in WORKLOADS.values())


def test_its_data_set_is_neither_made_up_nor_replaced(path, tmp_path):
    (workload,) = load_own(path)
    fashion = WORKLOADS["fashion_mnist/fc_128_128_128/sgd"]
    with preset_data(find_preset("smoke"), [workload, fashion], []) as (workloads, replacements):
        assert workloads[0] == workload
        assert [each.source for each in replacements] == ["fashion_mnist"]
    with pytest.raises(UsageError, match="unknown data set 'stripes'"):
        parse_replacement(f"stripes=mine:{tmp_path}")
    # Known when it is loaded; until then a twentieth of the training examples, or one.
    assert TRAIN_EXAMPLES == 12
    assert held_out_examples(workload) == (1, 1)
