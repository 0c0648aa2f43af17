"""Presets: named choices of how much of the workloads to train, which options override."""

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dbtool.core.errors import UsageError, unknown
from producers.configuration import DEFAULT_TRIALS
from producers.datasets.forms import Form, ImageForm, TextForm
from producers.datasets.registry import DATASETS, write_made_up
from producers.workloads.definition import Workload
from producers.workloads.replace import Replacement

# As many examples as made-up data has for validation and for testing.
_MADE_UP_HELD_OUT = 8


@dataclass(frozen=True)
class Preset:
    """How much of each workload to train, where neither options nor a plan say it.

    Attributes:
        about: what it is for, in a few words.
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
        """Return the batch sizes to train a workload with; never none."""
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
    """Return the preset of that name; of no name, the options' own defaults."""
    if name is None:
        return NO_PRESET
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS, "dbtool produce --help")
    return PRESETS[name]


@contextlib.contextmanager
def preset_data(
    preset: Preset,
    workloads: Sequence[Workload],
    replacements: Sequence[Replacement],
    vocabulary: Path | None = None,
) -> Iterator[tuple[Sequence[Workload], Sequence[Replacement]]]:
    """Yield the workloads and the folders in place of their data sets, as a preset has them.

    Data that it makes up is there while the block runs. Data sets of the user's own, whose formats
    it does not know, are trained on as they are.
    """
    if not preset.made_up:
        yield workloads, replacements
        return
    for given, option in ((replacements, "--replace"), (vocabulary, "--vocabulary")):
        if given:
            raise UsageError(f"the preset {preset.name} makes up its own data; leave out {option}")
    with tempfile.TemporaryDirectory(prefix="dbtool-made-up-") as folder:
        made_up = []
        sources = dict.fromkeys(each.source for each in workloads)
        for source in [each for each in sources if not DATASETS[each].is_own]:
            made_up.append(Replacement(source, f"made_up_{source}", Path(folder) / source))
            write_made_up(source, made_up[-1].folder)
        small = [each if DATASETS[each.source].is_own else _small(each) for each in workloads]
        yield small, made_up


@contextlib.contextmanager
def quick_compilation() -> Iterator[None]:
    """Let this process compile programs with little optimization, and the same ones once.

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
    evaluation = replace(workload.evaluation, training_subset=_MADE_UP_HELD_OUT)
    return replace(workload, form=_small_form(workload.form), evaluation=evaluation)


def _small_form(form: Form) -> Form:
    if isinstance(form, ImageForm):
        return replace(form, height=min(form.height, 32), width=min(form.width, 32))
    if isinstance(form, TextForm):
        return replace(form, vocabulary=300, length=16, evaluation_length=None)
    return form
