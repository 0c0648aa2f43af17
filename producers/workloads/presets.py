"""How much of the workloads to train: named choices, which options given by hand override."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.errors import UsageError, unknown
from producers.datasets.forms import ImageForm
from producers.limits import DEFAULT_TRIALS
from producers.workloads.replace import Replacement, replace_data

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from producers.datasets.forms import Form
    from producers.workloads.definition import Workload

    Chosen = Mapping[str, tuple[Workload, Path | None]]


# As many examples as made-up data has for validation and for testing.
_MADE_UP_HELD_OUT = 8


@dataclass(frozen=True)
class Preset:
    """How much of each workload to train.

    Attributes:
        name: as the user writes it.
        about: what it is for, in a few words.
        trials: of each study, at least.
        feasible: trials are added until this many are not INFEASIBLE.
        budget: multiplies the workload's budget of steps.
        steps: of each trial; None for the budget.
        largest_batches: the first letters of a model's name to the largest of the published batch
            sizes that is trained, the first that fits counting; empty for all of them.
        batch_size: the only one; None for the published ones.
        made_up: whether the workloads train on made-up data in small forms.
        release: the release that the measurements belong to.
    """

    name: str
    about: str
    trials: int = DEFAULT_TRIALS
    feasible: int = 0
    budget: float = 1.0
    steps: int | None = None
    largest_batches: tuple[tuple[str, int], ...] = ()
    batch_size: int | None = None
    made_up: bool = False
    release: str = "local"

    def batch_sizes(self, workload: Workload) -> tuple[int, ...]:
        """The batch sizes to train a workload with; never none."""
        if self.batch_size is not None:
            return (min(self.batch_size, workload.train_examples),)
        for first_letters, largest in self.largest_batches:
            if workload.model.startswith(first_letters):
                fitting = tuple(size for size in workload.batch_sizes if size <= largest)
                return fitting or workload.batch_sizes[:1]
        return workload.batch_sizes


NO_PRESET = Preset("none", "what the options say")

PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "smoke",
            "a few steps of each on made-up data, to see that all of it works",
            trials=2,
            steps=3,
            batch_size=4,
            made_up=True,
            release="smoke",
        ),
        Preset(
            "laptop",
            "a fifth of the steps and of the trials, at batch sizes that a laptop can take",
            trials=20,
            feasible=20,
            budget=0.2,
            largest_batches=(
                ("fc_", 4_096),
                ("simple_cnn", 512),
                ("resnet_8", 256),
                ("transformer_tiny", 256),
                ("", 64),
            ),
        ),
        Preset(
            "paper",
            "a hundred trials that do not diverge, of full length, at the published batch sizes",
            feasible=100,
        ),
    )
}


def find_preset(name: str | None) -> Preset:
    """The preset of that name; of no name, the options' own defaults.

    Raises:
        UsageError: there is none.
    """
    if name is None:
        return NO_PRESET
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS, "dbtool produce --help")
    return PRESETS[name]


@contextlib.contextmanager
def chosen_data(
    workloads: Sequence[Workload],
    preset: Preset,
    replacements: Sequence[Replacement],
    *,
    goal: float | None,
    vocabulary: Path | None = None,
) -> Iterator[Chosen]:
    """The workloads by their names, each with the folder that stands in for its data set.

    The folder is None for workloads on their own data. Made-up data is there until the end of the
    block.

    Args:
        workloads: what is to be trained.
        preset: whether on made-up data.
        replacements: folders given by hand.
        goal: of workloads whose data set is replaced.
        vocabulary: a text data set's subword vocabulary; None to have one trained.

    Raises:
        UsageError: options clash, or a replacement does not fit the workloads.
        DbtoolError: a folder cannot be read as the data set that it stands in for.
    """
    if goal is not None and not replacements:
        raise UsageError(
            "--goal is for data that --replace names: registered workloads have goals of their own"
        )
    if not preset.made_up:
        yield replace_data(workloads, replacements, goal=goal, vocabulary=vocabulary)
        return
    for given, option in ((replacements, "--replace"), (vocabulary, "--vocabulary")):
        if given:
            raise UsageError(f"the preset {preset.name} makes up its own data; leave out {option}")
    from producers.datasets.made_up import write_made_up

    with tempfile.TemporaryDirectory(prefix="dbtool-made-up-") as folder:
        made_up = []
        for source in dict.fromkeys(workload.source for workload in workloads):
            made_up.append(Replacement(source, f"made_up_{source}", Path(folder) / source))
            write_made_up(source, made_up[-1].folder)
        yield replace_data([_small(workload) for workload in workloads], made_up, goal=None)


@contextlib.contextmanager
def quick_compilation() -> Iterator[None]:
    """Lets this process compile programs with little optimization, and the same ones once.

    For processes that end with the block: compiling stays as it is set here.
    """
    import jax

    with tempfile.TemporaryDirectory(prefix="dbtool-compiled-") as folder:
        jax.config.update("jax_disable_most_optimizations", True)
        if jax.config.values["jax_compilation_cache_dir"] is None:
            jax.config.update("jax_compilation_cache_dir", folder)
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        yield


def _small(workload: Workload) -> Workload:
    """The workload with examples that little data has, and as few to evaluate."""
    evaluation = replace(workload.evaluation, training_subset=_MADE_UP_HELD_OUT)
    return replace(workload, form=_small_form(workload.form), evaluation=evaluation)


def _small_form(form: Form) -> Form:
    """Small images, or short texts of few different tokens."""
    if isinstance(form, ImageForm):
        return replace(form, height=min(form.height, 32), width=min(form.width, 32))
    return replace(form, vocabulary=300, length=16, evaluation_length=None)
