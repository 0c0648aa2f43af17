"""study.json and metadata.json as checked values."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct

from dbtool.core.footer import Status  # noqa: TC001 (msgspec reads it)
from dbtool.core.parsing import InvalidError, parse_json
from dbtool.sources.archive.members import ArchiveError

_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
T = TypeVar("T", bound=Struct)


class StudyDescription(Struct, frozen=True):
    """What study.json says; the first number is the name of its folder.

    Attributes:
        batch_size: the global batch size.
        train_steps: fewest steps of a COMPLETE trial; 0 where the budget was time.
        early_stopping: whether trials were stopped early.
        parameter_configs: the ranges of metaparameters by name, or each with its name.
    """

    batch_size: _Count
    train_steps: _Count
    early_stopping: bool
    parameter_configs: dict[str, dict[str, Any]] | list[dict[str, Any]]

    def __post_init__(self) -> None:
        if isinstance(self.parameter_configs, list):
            names = [_name(config) for config in self.parameter_configs]
            if not all(isinstance(name, str) for name in names):
                raise ValueError("parameter_configs has a metaparameter without a name")
            if len(set(names)) < len(names):
                raise ValueError("parameter_configs names a metaparameter twice")
        try:
            json.dumps(self.parameter_configs, allow_nan=False)
        except ValueError as error:
            raise ValueError("parameter_configs holds a number that JSON does not have") from error

    @property
    def search_space(self) -> dict[str, dict[str, Any]]:
        """Metaparameter to its type, range or points."""
        if isinstance(self.parameter_configs, dict):
            return self.parameter_configs
        return {_name(config): config for config in self.parameter_configs}


class TrialDescription(Struct, frozen=True):
    """What metadata.json says; the first number is the name of its folder.

    Attributes:
        trial_id: unique in the study.
        status: how it ended.
        steps: the last step that was taken.
        parameters: metaparameter to value.
    """

    trial_id: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    status: Status
    steps: _Count
    parameters: dict[str, float]


def parse_description(kind: type[T], path: str, body: bytes, folder: str) -> T:
    """Reads study.json or metadata.json.

    Args:
        kind: which of the two.
        path: the file's name, for messages.
        body: its contents.
        folder: the name of its folder, which is the study's batch size or the trial's id.

    Raises:
        ArchiveError: it is malformed, or of another folder.
    """
    if b"\\u0000" in body:
        raise ArchiveError(path, "it holds a null character")
    try:
        description = parse_json(body, kind)
    except InvalidError as error:
        raise ArchiveError(path, str(error)) from error
    name = kind.__struct_fields__[0]
    number = getattr(description, name)
    if str(number) != folder:
        raise ArchiveError(path, f"its {name} {number} is not that of its folder, {folder}")
    return description


def _name(config: dict[str, Any]) -> Any:
    """The name of a metaparameter that is one of a list."""
    return config.get("name", config.get("parameter_name"))
