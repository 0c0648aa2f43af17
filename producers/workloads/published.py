"""The published workloads of the batch size study: of images, then of texts."""

from dataclasses import replace

from producers.datasets.forms import (
    CIFAR_10,
    COMMON_CRAWL,
    IMAGENET,
    LM1B,
    OPEN_IMAGES_V4,
    STANDARDISED_FASHION_MNIST,
    STANDARDISED_MNIST,
)
from producers.datasets.split import HeldOut
from producers.search import Choice, Range, StepsRange
from producers.workloads.definition import (
    EvaluationRule,
    StepBudget,
    Workload,
    powers,
    search_space,
)

# The paper's choices of both are not known. These agree best with what it published, of those that
# docs/measured.md compares; they are those of every workload here.
_HELD_OUT = HeldOut("first")
_FORMS = {"mnist": STANDARDISED_MNIST, "fashion_mnist": STANDARDISED_FASHION_MNIST}

POWERS = powers(1, 32_768)
ALL = (*POWERS, 55_000)
EVERY_OTHER = (1, 2, 8, 32, 128, 512, 2_048, 8_192, 32_768, 55_000)

# The published studies' own budgets are not known: these are from 1.2 to 2.5 times the steps that
# the best trial needs at each batch size, and the narrowest network needs the most.
_FULLY_CONNECTED_BUDGET = StepBudget(fewest=1_000, examples=150_000)
_NARROW_BUDGET = StepBudget(fewest=1_200, examples=250_000)
_CONVOLUTIONAL_BUDGET = StepBudget(fewest=500, examples=300_000)

# Chosen so that evaluation takes about a tenth of the time of a fully connected network
# (benchmarks/training.py measures it), and about a third of a convolutional one's.
_FULLY_CONNECTED_EVALUATION = EvaluationRule(8, other_splits_every=16, examples_between=15_000)
_NARROW_EVALUATION = EvaluationRule(8, other_splits_every=16, examples_between=25_000)
_CNN_EVALUATION = EvaluationRule(4, other_splits_every=4, examples_between=4_000)

_EXPERIMENT = "chosen by experiment"
MNIST_CERTAINTY = {
    "batch_sizes": "stated",
    "budget": "chosen",
    "evaluation": "chosen",
    "form: deviation": _EXPERIMENT,
    "form: mean": _EXPERIMENT,
    "goal": "stated",
    "held_out: order": _EXPERIMENT,
    "schedule": "recalled",
    "search_space": "stated",
    "train_examples": "recalled",
}
_CHOSEN_GOAL = MNIST_CERTAINTY | {"goal": "chosen"}


def _rules(model: str) -> tuple[StepBudget, EvaluationRule]:
    if model == "fc_64_64_64":
        return _NARROW_BUDGET, _NARROW_EVALUATION
    if model.startswith("fc_"):
        return _FULLY_CONNECTED_BUDGET, _FULLY_CONNECTED_EVALUATION
    return _CONVOLUTIONAL_BUDGET, _CNN_EVALUATION


def mnist_workload(
    model: str,
    optimizer: str,
    goal: float,
    batch_sizes: tuple[int, ...],
    certainty: dict[str, str] = MNIST_CERTAINTY,
    dataset: str = "mnist",
) -> Workload:
    """Return a workload on MNIST or Fashion MNIST in the paper's protocol."""
    budget, evaluation = _rules(model)
    return Workload(
        collection=None,
        dataset=dataset,
        source=dataset,
        model=model,
        optimizer=optimizer,
        schedule="constant",
        search_space=search_space(optimizer),
        metric="val_classification_error",
        goal=goal,
        maximize=False,
        train_examples=55_000,
        batch_sizes=batch_sizes,
        budget=budget,
        evaluation=evaluation,
        certainty=tuple(certainty.items()),
        form=_FORMS[dataset],
        held_out=_HELD_OUT,
    )


def _subset(examples: int) -> Workload:
    sizes = (*(size for size in POWERS if size < examples), examples)
    stated = MNIST_CERTAINTY | {"train_examples": "stated"}
    return replace(
        mnist_workload("simple_cnn_base", "nesterov_momentum", 0.02, sizes, stated),
        collection="mnist_subsets",
        dataset=f"mnist_{examples}",
        train_examples=examples,
    )


_CNN_NESTEROV = mnist_workload("simple_cnn_base", "nesterov_momentum", 0.01, EVERY_OTHER)
_FASHION = mnist_workload(
    "simple_cnn_base", "nesterov_momentum", 0.1, EVERY_OTHER, dataset="fashion_mnist"
)

MNIST_WORKLOADS = (
    mnist_workload("fc_1024", "sgd", 0.03, ALL),
    mnist_workload("fc_1024_1024", "sgd", 0.03, ALL, _CHOSEN_GOAL),
    mnist_workload("fc_64_64_64", "sgd", 0.03, ALL, _CHOSEN_GOAL),
    *(
        mnist_workload(f"fc_{width}_{width}_{width}", "sgd", 0.03, ALL)
        for width in (128, 256, 512, 1024, 2048)
    ),
    mnist_workload("simple_cnn_narrow", "sgd", 0.01, ALL),
    mnist_workload("simple_cnn_base", "sgd", 0.01, ALL),
    mnist_workload("simple_cnn_wide", "sgd", 0.01, POWERS),
    mnist_workload("simple_cnn_base", "momentum", 0.01, ALL),
    _CNN_NESTEROV,
    replace(_FASHION, batch_sizes=EVERY_OTHER[1:]),
    *(_subset(examples) for examples in (6_875, 13_750, 27_500, 55_000)),
    *(
        replace(each, collection="solution_quality", certainty=tuple(_CHOSEN_GOAL.items()))
        for each in (_CNN_NESTEROV, _FASHION)
    ),
)


# Where the learning rate stops falling, and how far it falls. The release states of ResNet-50 on
# ImageNet that it stops between 300,000 and 600,000 of 600,000 steps.
_LINEAR_DECAY = (
    ("learning_rate_decay_steps", StepsRange(0.5, 1.0)),
    ("end_learning_rate_factor", Range(1e-4, 0.1, "LOG_SCALE")),
)
_LINEAR_DECAY_CERTAINTY = {
    "schedule": "stated",
    "search_space: learning_rate_decay_steps": "chosen",
    "search_space: end_learning_rate_factor": "recalled",
}

_CIFAR_10_EVALUATION = EvaluationRule(8, other_splits_every=8, examples_between=20_000)
# An evaluation takes a tenth of the time of the training between two.
_LARGE_EVALUATION = EvaluationRule(
    8, other_splits_every=8, examples_between=200_000, training_subset=10_000
)

# As many training examples as the release's errors of the training split are of.
_IMAGENET_EVALUATION = replace(_LARGE_EVALUATION, training_subset=50_176)

# The official training examples less the 50,045 of the test split.
_IMAGENET_EXAMPLES = 1_231_122

_CERTAINTY = {
    "augmentation": "recalled",
    "batch_sizes": "stated",
    "budget": "chosen",
    "evaluation": "chosen",
    "form": "recalled",
    "goal": "stated",
    "search_space": "stated",
    "train_examples": "recalled",
    **_LINEAR_DECAY_CERTAINTY,
}
_VGG_11_CERTAINTY = _CERTAINTY | dict.fromkeys(("form: deviation", "form: mean"), _EXPERIMENT)
_RESNET_50_CERTAINTY = _VGG_11_CERTAINTY | {"search_space: label_smoothing": "stated"}
# The release shows a study of this workload, and the errors of one of its trials.
_IMAGENET_CERTAINTY = _RESNET_50_CERTAINTY | {
    "evaluation: training_subset": "stated",
    "search_space: end_learning_rate_factor": "stated",
    "search_space: learning_rate_decay_steps": "stated",
    "train_examples": "stated",
}
_HALF_CERTAINTY = _RESNET_50_CERTAINTY | {"train_examples": "chosen"}
_LABEL_SMOOTHING = ("label_smoothing", Choice((0.0, 0.01, 0.1)))


def cifar_10_workload(optimizer: str) -> Workload:
    """ResNet-8 on CIFAR-10 in the paper's protocol."""
    return Workload(
        collection=None,
        dataset="cifar_10",
        source="cifar_10",
        model="resnet_8",
        optimizer=optimizer,
        schedule="linear_decay",
        search_space=search_space(optimizer, *_LINEAR_DECAY),
        metric="val_classification_error",
        goal=0.3,
        maximize=False,
        train_examples=45_000,
        batch_sizes=powers(2, 8_192),
        budget=StepBudget(fewest=5_000, examples=2_000_000),
        evaluation=_CIFAR_10_EVALUATION,
        certainty=tuple(_CERTAINTY.items()),
        form=CIFAR_10,
    )


_RESNET_50 = Workload(
    collection=None,
    dataset="imagenet",
    source="imagenet",
    model="resnet_50",
    optimizer="nesterov_momentum",
    schedule="linear_decay",
    search_space=search_space("nesterov_momentum", *_LINEAR_DECAY, _LABEL_SMOOTHING),
    metric="val_classification_error",
    goal=0.25,
    maximize=False,
    train_examples=_IMAGENET_EXAMPLES,
    batch_sizes=powers(64, 65_536),
    # 600,000 steps at batch size 256, as the release states; the others are chosen.
    budget=StepBudget(fewest=5_000, examples=256 * 595_000),
    evaluation=_IMAGENET_EVALUATION,
    certainty=tuple(_IMAGENET_CERTAINTY.items()),
    form=IMAGENET,
    augmentation=True,
)
_HALF = replace(
    _RESNET_50,
    collection="imagenet_subsets",
    goal=0.3,
    train_examples=_IMAGENET_EXAMPLES // 2,
    batch_sizes=powers(64, 32_768),
    certainty=tuple(_HALF_CERTAINTY.items()),
)

IMAGE_WORKLOADS = (
    cifar_10_workload("sgd"),
    cifar_10_workload("nesterov_momentum"),
    _RESNET_50,
    replace(
        _RESNET_50,
        model="vgg_11",
        search_space=search_space("nesterov_momentum", *_LINEAR_DECAY),
        goal=0.35,
        batch_sizes=(32, 64, *powers(256, 65_536)),
        certainty=tuple((_VGG_11_CERTAINTY | {"train_examples": "stated"}).items()),
    ),
    # The classes of ImageNet have from 732 to 1,300 images: half of them hold about half.
    replace(
        _HALF,
        dataset="imagenet_half_classes",
        subset="half_classes",
        form=replace(IMAGENET, classes=500),
    ),
    replace(_HALF, dataset="imagenet_half_images", subset="half_images"),
    replace(
        _RESNET_50,
        dataset="open_images_v4",
        source="open_images_v4",
        metric="val_average_precision",
        goal=0.31,
        maximize=True,
        train_examples=4_526_492,
        batch_sizes=powers(64, 32_768),
        evaluation=_LARGE_EVALUATION,
        form=OPEN_IMAGES_V4,
        certainty=tuple(_RESNET_50_CERTAINTY.items()),
    ),
)


_LM1B_EXAMPLES = 30_301_028

# The paper shows trials of one epoch, and of 25,000 steps, that reach the goal.
_TEXT_BUDGET = StepBudget(fewest=25_000, examples=2 * _LM1B_EXAMPLES)
_SGD_BUDGET = StepBudget(fewest=100_000, examples=5 * _LM1B_EXAMPLES)

_TEXT_CERTAINTY = {
    "batch_sizes": "stated",
    "budget": "chosen",
    "evaluation": "chosen",
    "form": "recalled",
    # That sentences stay whole is recalled, not the number.
    "form: evaluation_length": "chosen",
    # As many tokens as recalled, but trained here: a nat a token is another one than in the paper.
    "form: vocabulary": "chosen",
    "goal": "stated",
    "schedule": "recalled",
    "search_space": "stated",
    "train_examples": "stated",
}
_COMMON_CRAWL_CERTAINTY = _TEXT_CERTAINTY | {
    "form: evaluation_length": "recalled",
    "train_examples": "recalled",
}


def _lm1b(
    model: str, optimizer: str, goal: float, batch_sizes: tuple[int, ...] = powers(16, 32_768)
) -> Workload:
    return Workload(
        collection=None,
        dataset="lm1b",
        source="lm1b",
        model=model,
        optimizer=optimizer,
        schedule="constant",
        search_space=search_space(optimizer),
        metric="val_cross_entropy_error",
        goal=goal,
        maximize=False,
        train_examples=_LM1B_EXAMPLES,
        batch_sizes=batch_sizes,
        budget=_SGD_BUDGET if optimizer == "sgd" else _TEXT_BUDGET,
        evaluation=EvaluationRule(8, other_splits_every=8, examples_between=100_000),
        certainty=tuple(_TEXT_CERTAINTY.items()),
        form=LM1B,
    )


_TRANSFORMER = _lm1b("transformer_base", "nesterov_momentum", 3.9)

TEXT_WORKLOADS = (
    _TRANSFORMER,
    _lm1b("transformer_shallow", "sgd", 3.9, (32, 128, 512, 2_048, 8_192)),
    _lm1b("transformer_shallow", "momentum", 3.9, (32, 128, 512, 2_048, 8_192, 32_768)),
    _lm1b("transformer_shallow", "nesterov_momentum", 3.9),
    _lm1b("transformer_narrow_and_shallow", "nesterov_momentum", 4.2),
    _lm1b("transformer_wide", "nesterov_momentum", 4.2),
    _lm1b("lstm", "nesterov_momentum", 3.9, (16, 64, 256, 1_024, 4_096, 16_384, 32_768)),
    replace(
        _TRANSFORMER,
        dataset="common_crawl",
        source="common_crawl",
        train_examples=25_800_000_000,
        batch_sizes=(32, 64, 256, 1_024, 4_096, 16_384),
        certainty=tuple(_COMMON_CRAWL_CERTAINTY.items()),
        form=COMMON_CRAWL,
    ),
)
