"""study.json and metadata.json as checked values."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dbtool.archive.errors import ArchiveError
from dbtool.store.contract import STATUSES

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST_TRIAL_ID = 2**31 - 1
_LARGEST_STEP = 2**63 - 1


@dataclass(frozen=True)
class StudyDescription:
    """What study.json says.

    Attributes:
        train_steps: fewest steps of a COMPLETE trial; 0 where the budget was time.
        early_stopping: whether trials were stopped early.
        search_space: metaparameter to its type, range or points.
    """

    train_steps: int
    early_stopping: bool
    search_space: Mapping[str, Any]


class TrialDescription(NamedTuple):
    """What metadata.json says.

    Attributes:
        trial_id: unique in the study.
        status: COMPLETE, INCOMPLETE or INFEASIBLE.
        steps: the last step that was taken.
        metaparameters: name to value.
    """

    trial_id: int
    status: str
    steps: int
    metaparameters: Mapping[str, float]


def parse_study(path: str, body: bytes, batch_size: int) -> StudyDescription:
    """Reads study.json.

    Args:
        path: its name, for messages.
        body: its contents.
        batch_size: what its folder's name says, and so must it.

    Raises:
        ArchiveError: it is malformed.
    """
    value = _object(path, body)
    found = _integer(path, value, "batch_size", _LARGEST_STEP)
    if found != batch_size:
        raise ArchiveError(path, f"its batch_size {found} is not that of its folder, {batch_size}")
    train_steps = _integer(path, value, "train_steps", _LARGEST_STEP)
    early_stopping = _required(path, value, "early_stopping")
    if not isinstance(early_stopping, bool):
        raise ArchiveError(
            path, f"its early_stopping {_short(early_stopping)} is not a truth value"
        )
    return StudyDescription(train_steps, early_stopping, _search_space(path, value))


def parse_trial(path: str, body: bytes) -> TrialDescription:
    """Reads metadata.json.

    Raises:
        ArchiveError: it is malformed.
    """
    value = _object(path, body)
    status = _required(path, value, "status")
    if status not in STATUSES:
        raise ArchiveError(path, f"its status {_short(status)} is none of {', '.join(STATUSES)}")
    parameters = _required(path, value, "parameters")
    if not isinstance(parameters, dict):
        raise ArchiveError(path, "its parameters are not an object")
    return TrialDescription(
        _integer(path, value, "trial_id", _LARGEST_TRIAL_ID),
        status,
        _integer(path, value, "steps", _LARGEST_STEP),
        {name: _number(path, name, number) for name, number in parameters.items()},
    )


def _object(path: str, body: bytes) -> dict[str, Any]:
    """The JSON object that a file holds.

    Raises:
        ArchiveError: it holds none, or one with text that is not Unicode.
    """
    try:
        value = json.loads(body.decode().removeprefix("\ufeff"))
        if b"\\u" in body:
            # Half of a surrogate pair is read as text, and can be stored nowhere.
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ArchiveError(path, "it is not readable JSON") from error
    if not isinstance(value, dict):
        raise ArchiveError(path, "it is not a JSON object")
    if b"\\u0000" in body:
        raise ArchiveError(path, "it holds a null character")
    return value


def _required(path: str, value: Mapping[str, Any], name: str) -> Any:
    if name not in value:
        raise ArchiveError(path, f"it has no {name}")
    return value[name]


def _integer(path: str, value: Mapping[str, Any], name: str, largest: int) -> int:
    """A whole number from 0 on, which may be written as 10.0.

    Raises:
        ArchiveError: it is missing, of another type or out of range.
    """
    found = _required(path, value, name)
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    if not isinstance(found, int) or isinstance(found, bool):
        raise ArchiveError(path, f"its {name} {_short(found)} is not a whole number")
    if not 0 <= found <= largest:
        raise ArchiveError(path, f"its {name} {_short(found)} is out of range")
    return found


def _number(path: str, name: str, value: Any) -> float:
    """A metaparameter's value.

    Raises:
        ArchiveError: it is none.
    """
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise ArchiveError(path, f"its metaparameter {name} is {_short(value)}, which is not a number")


def _search_space(path: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metaparameters' ranges by name, whether a list or an object holds them.

    Raises:
        ArchiveError: it is neither, or has numbers that JSON has not.
    """
    configs = _required(path, value, "parameter_configs")
    if isinstance(configs, list):
        named = [config for config in configs if isinstance(config, dict)]
        names = [config.get("name", config.get("parameter_name")) for config in named]
        if len(named) != len(configs) or not all(isinstance(name, str) for name in names):
            raise ArchiveError(path, "its parameter_configs are not objects with names")
        if len(set(names)) != len(names):
            raise ArchiveError(path, "its parameter_configs name a metaparameter twice")
        configs = dict(zip(names, named, strict=True))
    if not isinstance(configs, dict) or not all(isinstance(of, dict) for of in configs.values()):
        raise ArchiveError(path, "its parameter_configs are not an object of objects")
    if not _is_finite(configs):
        raise ArchiveError(path, "its parameter_configs hold a number that JSON does not have")
    return configs


def _is_finite(value: Any) -> bool:
    """Whether all numbers are finite; 1e999 and NaN are read as numbers that are not."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, float) and not math.isfinite(found):
            return False
        if isinstance(found, dict):
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)
    return True


def _short(value: Any) -> str:
    """A value from a file as a message shows it."""
    try:
        text = json.dumps(value)
    except ValueError:  # a number of too many digits
        text = "of many digits"
    return text if len(text) <= 40 else f"{text[:37]}..."
