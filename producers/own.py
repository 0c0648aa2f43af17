"""Names for a file of your own, which `dbtool produce --from my_workload.py` trains.

The file, or the module that an entry point of the group `dbtool.workloads` names, lists what it
defines under any of these names:

- WORKLOADS, a list of Workload: what is trained on what, and measured how
- MODELS, a list of ModelDefinition, for models that are not in this package
- OPTIMIZERS, a list of OptimizerDefinition, likewise
- SCHEDULES, a list of ScheduleDefinition, for learning rates, likewise
- OBJECTIVES, a dictionary of names to Objectives, for losses, likewise
- DATASETS, a dictionary of names to functions from a Request to a Dataset, likewise

docs/extending.md shows a whole one.
"""

from producers.datasets.forms import ArrayForm, ImageForm, TextForm
from producers.datasets.split import Dataset, ExampleSource, HeldOut, Request, Split
from producers.models.registry import ModelDefinition
from producers.search import Choice, Range
from producers.training.objectives import Objective
from producers.training.optimizers import OptimizerDefinition
from producers.training.schedules import ScheduleDefinition
from producers.workloads.definition import EvaluationRule, StepBudget, Workload

__all__ = [
    "ArrayForm",
    "Choice",
    "Dataset",
    "EvaluationRule",
    "ExampleSource",
    "HeldOut",
    "ImageForm",
    "ModelDefinition",
    "Objective",
    "OptimizerDefinition",
    "Range",
    "Request",
    "ScheduleDefinition",
    "Split",
    "StepBudget",
    "TextForm",
    "Workload",
]
