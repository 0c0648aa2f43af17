"""The answers that a made-up archive must give."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """One measurement that answers a question.

    Attributes:
        step: the step it was taken at.
        trial_id: the trial it was taken in.
        value: the metric, as the double nearest to the decimal that was written.
    """

    step: int
    trial_id: int
    value: float


@dataclass(frozen=True)
class Oddity:
    """A trial whose measurements.csv was made unusual, yet not malformed.

    Attributes:
        trial_id: the trial.
        kind: a name in `odd.KINDS`.
    """

    trial_id: int
    kind: str


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
        planted_steps: ceil(S_min * (1 + B_crit / B)); None where no trial gets to the goal.
        steps_to_result: the first of the first `trial_limit` COMPLETE trials strictly past the
            goal; None where there is none.
        best: the best value of the goal's metric in those trials, at its first step.
        oddities: the trials with unusual files.
    """

    workload: str
    batch_size: int
    complete: int
    incomplete: int
    infeasible: int
    measurements: int
    planted_steps: int | None
    steps_to_result: Result | None
    best: Result | None
    oddities: tuple[Oddity, ...] = ()

    @property
    def path(self) -> str:
        """The study's folder, below the archive's root."""
        return f"{self.workload}/{self.batch_size}"

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

    def study(self, workload: str, batch_size: int) -> StudyTruth:
        """The study of that name.

        Raises:
            KeyError: it was not written.
        """
        for study in self.studies:
            if (study.workload, study.batch_size) == (workload, batch_size):
                return study
        raise KeyError(f"{workload}/{batch_size}")
