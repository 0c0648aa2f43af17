"""Every setting of a workload, with how sure it is."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from producers.datasets.registry import DATASETS
from producers.models.registry import model_definition
from producers.workloads.definition import BATCH_SIZE_STUDY, SPARSITY_STUDY, Workload

# In the order that a person asks for them.
_SETTINGS = (  # noqa: SIM905 (a list would take a line a word)
    "paper collection dataset source replaces data_sha256 subset train_examples held_out form "
    "augmentation model dtype sparsity pruning optimizer schedule search_space sobol "
    "objective metric goal goal_inclusive maximize budget evaluation batch_sizes batch_schedule "
    "origin"
).split()
# The workload's name, its paper or the data set itself says all but these.
_NOT_NAMED = {
    *("train_examples", "held_out", "augmentation", "dtype", "schedule", "search_space", "sobol"),
    *("form: mean", "form: deviation", "form: by_image"),
}
_BY_NAME = {BATCH_SIZE_STUDY: "stated", SPARSITY_STUDY: "stated", None: "chosen"}


@dataclass(frozen=True)
class Setting:
    """A setting of a workload, such as `goal`, or `model: widths` of one that is part of another.

    JSON can hold its value; its certainty is one of `producers.workloads.definition.CERTAINTIES`.
    """

    name: str
    value: Any
    certainty: str

    @property
    def text(self) -> str:
        """Return the value as a person reads it."""
        return _text(self.value)


def settings(workload: Workload) -> list[Setting]:
    """Return every setting of a workload, those of its model among them."""
    model = model_definition(workload.model)
    of_model = {f"model: {name}": grade for name, grade in model.certainty.items()}
    # The number of examples held out is the paper's, which ones are not known.
    graded = of_model | {"held_out: examples": "recalled"} | dict(workload.certainty)
    found: list[Setting] = []
    for whole in _SETTINGS:
        if whole != "held_out" or DATASETS[workload.source].chooses_held_out:
            held = getattr(workload, whole)
            if whole == "objective":
                held = held or workload.form.objective
            for name, value in _parts(whole, held):
                grade = _certainty(name, graded, _BY_NAME.get(workload.paper, "chosen"))
                found.append(Setting(name, value, grade))
        if whole == "model":
            for name, value in model.settings.items():
                grade = graded.get(f"model: {name}", "chosen")
                found.append(Setting(f"model: {name}", value, grade))
    return [Setting("workload", workload.name, found[0].certainty), *found]


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if name == "search_space":
        yield from ((f"{name}: {each}", range_.to_json()) for each, range_ in value)
    elif is_dataclass(value) and not isinstance(value, type):
        parts = asdict(value).items()
        yield from ((f"{name}: {each}", part) for each, part in parts if part is not None)
    else:
        yield name, value


def _certainty(name: str, graded: Mapping[str, str], by_name: str) -> str:
    """How sure a setting is: as it is graded, or the whole that it is part of, or by its name."""
    whole = name.partition(": ")[0]
    named = not {whole, name} & _NOT_NAMED
    return graded.get(name) or graded.get(whole) or (by_name if named else "chosen")


def _text(value: Any) -> str:
    match value:
        case {"min_value": low, "max_value": high, "scale": scale}:
            text = f"{_text(low)} to {_text(high)}, {scale.lower().replace('_', ' ')}"
        case {"min_share": low, "max_share": high}:
            text = f"{low:.0%} to {high:.0%} of the trial's steps, linear scale"
        case {"feasible_points": values}:
            text = " or ".join(_text(each) for each in values)
        case dict():
            text = ", ".join(f"{key} {_text(each)}" for key, each in value.items())
        case list() | tuple():
            # Commas stand between them, not in them.
            text = ", ".join(_text(each).replace(",", "") for each in value) or "none"
        case None | bool():
            text = {None: "none", True: "yes", False: "no"}[value]
        case int():
            text = f"{value:,}"
        case float():
            text = f"{value:g}"
        case _:
            text = str(value)
    return text
