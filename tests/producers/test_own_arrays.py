"""Tables of numbers, a squared error and an objective of a user's own, trained and asked for."""

from pathlib import Path

import numpy as np
import pytest

from dbtool.core.errors import UsageError
from dbtool.database import open_database
from producers.datasets.forms import ArrayForm
from producers.sweep.outcome import values_of
from producers.workloads.definition import Workload
from producers.workloads.own import load_own
from tests.support.sweeps import planned, shards, sweep_all

pytestmark = pytest.mark.usefixtures("registries_as_before")

FILE = '''"""A plane in a table of two columns."""

import jax.numpy as jnp
import numpy as np
from flax import nnx

from producers.own import ArrayForm, Dataset, EvaluationRule, ModelDefinition, Range, Split
from producers.own import StepBudget, Workload

FORM = ArrayForm((2,), outputs=1)
INPUTS = np.random.default_rng(3).normal(size=(24, 2)).astype(np.float32)
TARGETS = (INPUTS @ np.float32([[2], [-3]]) + 1).astype(np.float32)


class Plane(nnx.Module):
    def __init__(self, form, dtype, rngs):
        zeros = nnx.initializers.zeros_init()
        self.linear = nnx.Linear(*form.shape, form.outputs, kernel_init=zeros, rngs=rngs)

    def __call__(self, inputs, *, train):
        return self.linear(inputs)


class Absolute:
    """The absolute error."""

    metric_names = ("absolute_error",)

    def loss(self, logits, targets, metaparameters):
        return jnp.abs(logits - targets).sum(), jnp.float32(len(targets))

    def totals(self, logits, targets):
        errors = jnp.abs(logits - targets)
        return {"loss": errors.sum(), "examples": jnp.int32(len(targets))}

    def metrics(self, totals):
        return {"absolute_error": totals["loss"] / np.maximum(totals["examples"], 1)}


def load(request):
    parts = (slice(12), slice(12, 18), slice(18, 24))
    return Dataset("plane", FORM, *(Split(INPUTS[part], TARGETS[part]) for part in parts))


MODELS = [ModelDefinition("plane", Plane)]
OBJECTIVES = {"absolute": Absolute()}
DATASETS = {"plane": load}


def workload(dataset, objective, metric):
    return Workload(
        collection=None,
        dataset=dataset,
        source="plane",
        form=FORM,
        train_examples=12,
        model="plane",
        optimizer="sgd",
        schedule="constant",
        search_space=(("learning_rate", Range(0.1, 0.1, "LOG_SCALE")),),
        metric=metric,
        maximize=False,
        goal=1.0,
        batch_sizes=(12,),
        budget=StepBudget(fewest=20, examples=0),
        evaluation=EvaluationRule(every=1, other_splits_every=1, training_subset=12),
        certainty=(),
        objective=objective,
    )


WORKLOADS = [workload("plane", "", "val_squared_error")]
'''


def plane() -> tuple[list[float], list[float]]:
    """Losses of whole batches before each step, and of validation after each, in NumPy."""
    inputs = np.random.default_rng(3).normal(size=(24, 2)).astype(np.float32).astype(np.float64)
    targets = inputs @ [2.0, -3.0] + 1
    weights, bias = np.zeros(2), 0.0
    losses, validation = [], []
    for _ in range(21):
        errors = inputs @ weights + bias - targets
        losses.append(float((errors[:12] ** 2).mean()))
        validation.append(float((errors[12:18] ** 2).mean()))
        weights = weights - 0.1 * 2 * inputs[:12].T @ errors[:12] / 12
        bias -= 0.1 * 2 * errors[:12].mean()
    return losses[:20], validation


def trained(workload: Workload, out: Path) -> None:
    (study,) = planned(workload, trials=1)
    sweep_all([study], out, None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def test_a_table_is_trained_by_its_squared_error(path, tmp_path):
    (workload,) = load_own(path)
    assert "objective" not in workload.definition()
    trained(workload, tmp_path / "runs")
    losses, validation = plane()
    with open_database(tmp_path / "runs") as db:
        rows = db.sql(
            "SELECT step, other_metrics['batch_squared_error'], "
            "other_metrics['val_squared_error'], batch_cross_entropy_error "
            "FROM measurements ORDER BY step"
        ).rows()
        assert [row[1] for row in rows][1:] == pytest.approx(losses, rel=1e-4)
        assert [row[2] for row in rows] == pytest.approx(validation, rel=1e-4)
        assert {row[3] for row in rows} == {None}
        # As searches and the lines of a sweep read it.
        _, steps, values = values_of(shards(tmp_path / "runs"), "val_squared_error")
        assert steps.tolist() == list(range(21))
        assert values == pytest.approx(validation, rel=1e-4)
        reached = next(step for step, value in enumerate(validation) if value < 1)
        assert db.steps(workload.name)["steps"].to_list() == [reached]
        reached = next(step for step, value in enumerate(validation) if value < 0.5)
        found = db.steps(workload.name, metric="val_squared_error", goal=0.5)
        assert found["steps"].to_list() == [reached]


def test_a_file_brings_an_objective(path, tmp_path):
    path.write_text(FILE.replace('"", "val_squared_error"', '"absolute", "test_absolute_error"'))
    (workload,) = load_own(path)
    assert workload.definition()["objective"] == "absolute"
    trained(workload, tmp_path / "runs")
    with open_database(tmp_path / "runs") as db:
        [(losses, steps)] = db.sql(
            "SELECT count(other_metrics['batch_absolute_error']), max(step) FROM measurements"
        ).rows()
        assert (losses, steps) == (20, 20)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ('"", "val_squ', '"absolut", "val_squ', "unknown objective 'absolut'; closest: absolute"),
        ("Absolute()}", "0.5}", "OBJECTIVES gives absolute 0.5, and should give it an object with"),
        ("1).astype(np.float32)", "1).astype(float)", "targets that are float64 (12, 1), and sho"),
    ],
)
def test_mistakes(old, new, part, path, tmp_path):
    assert old in FILE
    path.write_text(FILE.replace(old, new))
    with pytest.raises(Exception, match=r"mine\.py|plane") as caught:
        trained(load_own(path)[0], tmp_path / "runs")
    assert part in str(caught.value)


def test_targets_are_classes_or_numbers():
    for classes, outputs in ((0, 0), (2, 1)):
        with pytest.raises(UsageError, match=f"not {classes} and {outputs}"):
            ArrayForm((3,), classes, outputs)
    form = ArrayForm((3, 4), classes=5)
    assert (form.target_shape, form.logits_shape, form.objective) == ((), (5,), "classification")
