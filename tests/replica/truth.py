"""What a made-up archive holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StudyTruth:
    """What a study of a made-up archive holds, by the authors' rules.

    Attributes:
        workload: the workload's path in the archive.
        batch_size: the global batch size.
        complete: how many trials of each status were written.
        incomplete: the same.
        infeasible: the same.
        measurements: lines of all measurements.csv, headers left out.
        steps_to_result: ceil(S_min * (1 + B_crit / B)), at which the first of the first
            `trial_limit` COMPLETE trials is strictly past the goal; None where none gets there.
    """

    workload: str
    batch_size: int
    complete: int
    incomplete: int
    infeasible: int
    measurements: int
    steps_to_result: int | None

    @property
    def trials(self) -> int:
        """How many trials were written, whatever their status."""
        return self.complete + self.incomplete + self.infeasible


@dataclass(frozen=True)
class Truth:
    """What a made-up archive holds: its studies, in the order they were asked for."""

    studies: tuple[StudyTruth, ...]

    @property
    def trials(self) -> int:
        """How many trials were written."""
        return sum(study.trials for study in self.studies)

    @property
    def measurements(self) -> int:
        """How many measurements were written."""
        return sum(study.measurements for study in self.studies)
