"""What `dbtool produce` trains: the studies that its words name, or a plan file does."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from dataclasses import replace as replace_fields
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from producers.lockstep.words import SearchWords
    from producers.plan import StudyPlan
    from producers.workloads.definition import Workload


@dataclass(frozen=True)
class Words:
    """The words that say what to train, as `dbtool produce` takes them; a plan clashes with each.

    None, and False or nothing where there is no None, stand for what was not given.
    """

    workload: list[str] | None
    everything: bool
    preset: str | None
    batch_sizes: str | None
    trials: int | None
    feasible: int | None
    steps: int | None
    budget: float | None
    search: SearchWords
    replace: list[str] | None
    goal: float | None
    release: str | None
    seed: int | None
    shared_batches: bool

    def first_given(self) -> str | None:
        """The first of the words that were given, as it is written; None when none was."""
        options = {
            "--all": self.everything or None,
            "--preset": self.preset,
            "--batch-sizes": self.batch_sizes,
            "--trials": self.trials,
            "--feasible": self.feasible,
            "--steps": self.steps,
            "--budget": self.budget,
            **{f"--{name.replace('_', '-')}": said for name, said in asdict(self.search).items()},
            "--replace": self.replace or None,
            "--goal": self.goal,
            "--release": self.release,
            "--seed": self.seed,
            "--shared-batches": self.shared_batches or None,
        }
        named = [name for name, value in options.items() if value is not None]
        return next(iter([*(self.workload or []), *named]), None)


@contextlib.contextmanager
def chosen_studies(
    words: Words,
    plan: Path | None,
    *,
    dtype: Literal["float32", "bfloat16"],
    vocabulary: Path | None,
    sliced: bool,
) -> Iterator[list[StudyPlan]]:
    """The studies to train; data that is made up for them is there until the end of the block.

    Args:
        words: what the command line says.
        plan: a file that says it instead.
        dtype: what models compute in.
        vocabulary: a text data set's subword vocabulary; None to have one trained.
        sliced: whether a slice of them alone is to be trained.

    Raises:
        UsageError: the words or the plan are wrong, or clash.
        DbtoolError: a folder cannot be read as the data set that it stands in for.
    """
    if plan is not None:
        yield _planned(words, plan, dtype, vocabulary, sliced=sliced)
        return

    from dbtool.errors import UsageError
    from producers.plan import plan_studies
    from producers.workloads.presets import chosen_data, find_preset
    from producers.workloads.replace import parse_replacement

    preset = find_preset(words.preset)
    rule = words.search.rule(words.feasible)
    feasible = preset.feasible if words.feasible is None else words.feasible
    if rule is not None:
        # It adds trials by itself, where the best one lies at an edge.
        feasible = 0
    wanted = _wanted(words.workload, words.everything)
    if sliced and feasible:
        raise UsageError(
            "--feasible and presets that have it need the results of all slices; train the slices "
            "with --feasible 0, then run the same command without --slice and --feasible 0"
        )
    if sliced and rule is not None:
        raise UsageError(
            "a search in lockstep trains the trials of a study together, in one process; "
            "leave out --slice, or search with --search fixed"
        )
    replacements = [parse_replacement(text) for text in words.replace or []]
    sizes = _numbers(words.batch_sizes)
    untold = words.steps is None and words.budget is None
    with chosen_data(wanted, preset, replacements, goal=words.goal, vocabulary=vocabulary) as found:
        yield plan_studies(
            [replace_fields(each, dtype=dtype) for each, _ in found.values()],
            release=preset.release if words.release is None else words.release,
            batch_sizes=sizes or preset.batch_sizes,
            steps=preset.steps if untold else words.steps,
            budget_scale=preset.budget if words.budget is None else words.budget,
            root_seed=words.seed or 0,
            shared_batches=words.shared_batches,
            trials=preset.trials if words.trials is None else words.trials,
            feasible=feasible,
            search=rule,
            replacements={name: folder for name, (_, folder) in found.items() if folder},
        )


def _planned(
    words: Words,
    path: Path,
    dtype: Literal["float32", "bfloat16"],
    vocabulary: Path | None,
    *,
    sliced: bool,
) -> list[StudyPlan]:
    """The studies of a plan file.

    Raises:
        UsageError: the plan is wrong, or clashes with the words.
        DbtoolError: a folder cannot be read as the data set that it stands in for.
    """
    from dbtool.errors import UsageError
    from producers.plan_file import read_plan

    given = words.first_given()
    if given is not None:
        raise UsageError(
            f"--plan trains what {path} says and nothing else; leave out {given}, or --plan"
        )
    studies = read_plan(path).studies(dtype, vocabulary)
    if sliced and any(study.search for study in studies):
        raise UsageError(
            f"{path} searches in lockstep, which trains the trials of a study together, in one "
            "process; leave out --slice"
        )
    if sliced and any(study.feasible_trials for study in studies):
        raise UsageError(
            f"{path} has feasible, which needs the results of all slices; train the slices with a "
            "copy of it that has none, then run it without --slice"
        )
    return studies


def _wanted(patterns: list[str] | None, everything: bool) -> list[Workload]:
    """The workloads to train.

    Raises:
        UsageError: when none are named, or some beside all of them.
    """
    from dbtool.errors import UsageError
    from producers.workloads.registry import find_workloads

    if everything and patterns:
        raise UsageError(f"--all trains every workload; leave out {' '.join(patterns)} or --all")
    if not patterns and not everything:
        raise UsageError(
            "name what to train, such as `dbtool produce mnist/fc_64_64_64/sgd`, or all with "
            "--all; `dbtool produce --list` lists the workloads"
        )
    return find_workloads(patterns or ["*"])


def _numbers(text: str | None) -> list[int] | None:
    """The whole numbers of a list with commas.

    Raises:
        UsageError: when it holds anything else.
    """
    from dbtool.errors import UsageError

    if text is None:
        return None
    try:
        return [int(word) for word in text.split(",")]
    except ValueError as error:
        raise UsageError(
            f"batch sizes {text!r} are not whole numbers with commas between them, "
            "such as --batch-sizes 1,64,4096"
        ) from error
