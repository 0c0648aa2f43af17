"""The curves of the papers' figures, written down from the papers and not from the queries."""

from collections.abc import Sequence
from dataclasses import replace

from .figure_rules import Curve

ERROR, ENTROPY = "val/classification_error", "val/cross_entropy_error"
PRECISION = "val/average_precision"
IMAGES, LM1B = 55_000, 30_301_028
NM = "nesterov_momentum"
FIFTY = {f"common_crawl/transformer_base/{NM}", f"lm1b/lstm/{NM}", "lm1b/transformer_shallow/sgd"}


def metric_of(workload: str) -> str:
    """The metric that the papers read of a workload."""
    if "open_images" in workload:
        return PRECISION
    return ENTROPY if workload.startswith(("lm1b", "common_crawl")) else ERROR


def curve(
    panel: int, series: int, name: str, workload: str, goal: str, at: int | None = None
) -> Curve:
    """A curve of steps to result."""
    trials = 50 if workload in FIFTY else 100
    return Curve(panel, series, name, workload, metric_of(workload), goal, trials, at)


def _panels(*panels: Sequence[tuple[str, str, str, int | None]]) -> list[Curve]:
    return [
        curve(place, series, *words)
        for place, panel in enumerate(panels, 1)
        for series, words in enumerate(panel, 1)
    ]


FIGURE_1 = _panels(
    [("simple_cnn_base", f"mnist/simple_cnn_base/{NM}", "0.01", None)],
    [("simple_cnn_base", f"fashion_mnist/simple_cnn_base/{NM}", "0.1", None)],
    [("resnet_8", f"cifar_10/resnet_8/{NM}", "0.3", None)],
    [("resnet_50", f"imagenet/resnet_50/{NM}", "0.25", None)],
    [("resnet_50", f"open_images_v4/resnet_50/{NM}", "0.31", None)],
    [("transformer_base", f"lm1b/transformer_base/{NM}", "3.9", None)],
    [("transformer_base", f"common_crawl/transformer_base/{NM}", "3.9", None)],
    [("vgg_11", f"imagenet/vgg_11/{NM}", "0.35", None)],
    [("lstm", f"lm1b/lstm/{NM}", "3.9", None)],
)
FIGURE_2 = _panels(
    *(
        [(f"goal {float(goal)}", workload, goal, None) for goal in goals.split()]
        for workload, goals in (
            (f"mnist/simple_cnn_base/{NM}", "0.008 0.01 0.012 0.014 0.016"),
            (f"lm1b/transformer_base/{NM}", "3.8 3.85 3.9 3.95 4.0 4.05"),
            (f"imagenet/resnet_50/{NM}", "0.25 0.27 0.29 0.31"),
        )
    )
)
_FC = ("fc_1024", *(f"fc_{n}_{n}_{n}" for n in (128, 256, 512, 1024, 2048)))
FIGURE_3 = _panels(
    [(m, f"mnist/{m}/sgd", "0.03", 1) for m in ("fc_1024_1024_1024", "simple_cnn_base")],
    [(m, f"imagenet/{m}/{NM}", "0.35", 64) for m in ("resnet_50", "vgg_11")],
    [(m, f"lm1b/{m}/{NM}", "3.9", 16) for m in ("transformer_base", "lstm")],
    [(m, f"mnist/{m}/sgd", "0.03", 2) for m in _FC],
    [
        (f"simple_cnn_{size}", f"mnist/simple_cnn_{size}/sgd", "0.01", 2)
        for size in ("base", "narrow", "wide")
    ],
    [
        (f"transformer_{size}", f"lm1b/transformer_{size}/{NM}", "4.2", 16)
        for size in ("wide", "base", "shallow", "narrow_and_shallow")
    ],
)
FIGURE_4 = _panels(
    [(o, f"mnist/simple_cnn_base/{o}", "0.01", None) for o in ("sgd", "momentum", NM)],
    [(o, f"lm1b/transformer_shallow/{o}", "3.9", None) for o in ("sgd", "momentum", NM)],
    [(o, f"cifar_10/resnet_8/{o}", "0.3", None) for o in ("sgd", NM)],
)
FIGURE_5 = _panels(
    [
        ("mnist", f"mnist/simple_cnn_base/{NM}", "0.01", 2),
        ("fashion_mnist", f"fashion_mnist/simple_cnn_base/{NM}", "0.1", 2),
    ],
    [
        ("imagenet", f"imagenet/resnet_50/{NM}", "0.25", 128),
        ("open_images_v4", f"open_images_v4/resnet_50/{NM}", "0.31", 128),
    ],
    [(d, f"{d}/transformer_base/{NM}", "3.9", 32) for d in ("lm1b", "common_crawl")],
)
FIGURE_6 = _panels(
    [
        (f"mnist_{n}", f"mnist_subsets/mnist_{n}/simple_cnn_base/{NM}", "0.02", 2)
        for n in (55000, 27500, 13750, 6875)
    ],
    [
        ("imagenet", f"imagenet/resnet_50/{NM}", "0.25", 64),
        *(
            (name, f"imagenet_subsets/{name}/resnet_50/{NM}", "0.3", 64)
            for name in ("imagenet_half_images", "imagenet_half_classes")
        ),
    ],
)
_SMOOTHED = [
    replace(FIGURE_1[3], panel=1, series=n, name=f"label smoothing {s}", smoothing=float(s))
    for n, s in enumerate(("0", "0.01", "0.1"), 1)
]
FIGURE_7_BEST = [replace(each, goal=None) for each in _SMOOTHED]
FIGURE_7_STEPS = [replace(each, panel=2) for each in _SMOOTHED]
FIGURE_8 = [replace(each, goal="0.3") if each.panel == 2 else each for each in FIGURE_1]

_STEPS = {
    IMAGES: ["5k", "10k", "20k", "50k", "100k", "200k", "500k", "1M", "2M", "5M"],
    LM1B: ["10k", "20k", "50k", "100k", "200k", "500k", "1M"],
}
_EPOCHS = {
    IMAGES: ["10", "20", "50", "100", "200", "500", "1000", "2000", "5000", "10000"],
    LM1B: ["0.2", "0.5", "1", "2", "5", "10", "20"],
}
_ROWS = (
    (f"solution_quality/mnist/simple_cnn_base/{NM}", IMAGES),
    (f"solution_quality/fashion_mnist/simple_cnn_base/{NM}", IMAGES),
    (f"lm1b/transformer_narrow_and_shallow/{NM}", LM1B),
    (f"lm1b/transformer_base/{NM}", LM1B),
)


def _number(word: str) -> int:
    return int(word.replace("k", "000").replace("M", "000000"))


FIGURE_11 = [
    Curve(
        2 * row - 1, n, f"{word} steps", workload, metric_of(workload), trials=None,
        most_steps=_number(word),
    )
    for row, (workload, examples) in enumerate(_ROWS, 1)
    for n, word in enumerate(_STEPS[examples], 1)
] + [
    Curve(
        2 * row, n, f"{float(word):,g} epoch{'s' * (word != '1')}", workload, metric_of(workload),
        trials=None, most_examples=float(word) * examples,
    )
    for row, (workload, examples) in enumerate(_ROWS, 1)
    for n, word in enumerate(_EPOCHS[examples], 1)
]  # fmt: skip

TRIAL_BUDGET = [
    replace(each, series=number, name=f"first {number} trials", trials=number)
    for each in FIGURE_1
    for number in (10, 25, 50, 100)
    if each.trials and number <= each.trials
]


def of_split(split: str) -> list[Curve]:
    """Figure 1 with the goal read on another split."""
    return [replace(each, metric=each.metric.replace("val", split)) for each in FIGURE_1]
