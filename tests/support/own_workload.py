"""A file of a user's own with a model, an optimizer and a data set that are not in the package."""

FILE = '''"""Two kinds of stripes."""

import math

import numpy as np
import optax
from flax import nnx

from producers.own import Dataset, EvaluationRule, ImageForm, ModelDefinition
from producers.own import OptimizerDefinition, Range, Split, StepBudget, Workload

FORM = ImageForm(height=4, width=4, channels=1, classes=2)
STRIPES = np.stack([np.indices((4, 4))[axis] % 2 * 255 for axis in range(2)])


class Slope(nnx.Module):
    def __init__(self, images, dtype, rngs):
        self.linear = nnx.Linear(16, images.classes, dtype=dtype, rngs=rngs)

    def __call__(self, images, *, train):
        return self.linear(images.reshape(len(images), -1))


def rule(m):
    # A Lion that looks ahead.
    return optax.scale_by_lion(m["nudge"])


def load(request):
    labels = np.arange(24) % 2
    images = STRIPES[labels].astype(np.uint8)
    parts = (slice(12), slice(12, 18), slice(18, 24))
    return Dataset("stripes", FORM, *(Split(images[part], labels[part]) for part in parts))


RULE = OptimizerDefinition(
    "rule",
    (
        ("learning_rate", Range(1e-3, 0.1, "LOG_SCALE")),
        ("nudge", Range(0.1, 1.0)),
    ),
    rule,
)
MODEL = ModelDefinition("slope", Slope)
MODELS = [MODEL]
OPTIMIZERS = [RULE]
DATASETS = {"stripes": load}
WORKLOADS = [
    Workload(
        collection=None,
        dataset="stripes",
        source="stripes",
        form=FORM,
        train_examples=12,
        model="slope",
        optimizer="rule",
        schedule="constant",
        search_space=RULE.search_space,
        metric="val_classification_error",
        maximize=False,
        goal=0.1,
        batch_sizes=(2, 4),
        budget=StepBudget(fewest=20, examples=0),
        evaluation=EvaluationRule(),
        certainty=(),
    )
]
'''
NAME = "stripes/slope/rule"
TRAIN_EXAMPLES = 12
