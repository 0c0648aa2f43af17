"""One made-up study: the course of its trials, its files and what it must answer."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .curves import ONE, Course, Ints, draw, evaluation_steps, metric_columns
from .plan import StudyPlan

Member: TypeAlias = tuple[str, bytes | None]  # a path, and the contents of a file

ROOT = "batch_science"
STATUSES = ("COMPLETE", "INCOMPLETE", "INFEASIBLE")
MOST_METAPARAMETERS = 6
_TRAPPED = 6  # the fewest COMPLETE trials that traps are set among


@dataclass(frozen=True)
class Truth:
    """What a made-up archive holds.

    Attributes:
        studies: in the order they were asked for; each says what it must answer.
        measurements: lines of all measurements.csv, headers left out.
    """

    studies: tuple[StudyPlan, ...]
    measurements: int

    @property
    def trials(self) -> int:
        """How many trials were written."""
        return sum(study.trials for study in self.studies)


@dataclass(frozen=True)
class Oddity:
    """An unusual file, which moves none of a study's answers.

    Attributes:
        status: of the trial that gets it.
        written: from the header and the lines of a usual file.
        fewest_lines: of a file that it can be made of.
    """

    status: str
    written: Callable[[bytes, bytes], bytes]
    fewest_lines: int = 1


def make_study(plan: StudyPlan, seed: int) -> tuple[list[Member], int]:
    """Draws a study: its folders and files, trials by trial id, and how many measurements."""
    rng = plan.rng(seed)
    counts = (plan.complete, plan.incomplete, plan.infeasible)
    statuses = rng.permutation(np.repeat(STATUSES, counts))
    # Ascending from 1, with a few gaps.
    among = np.arange(1, len(statuses) + len(statuses) // 20 + 1)
    trial_ids = np.sort(rng.choice(among, len(statuses), replace=False)).tolist()
    steps = evaluation_steps(plan)
    course = _course(plan, statuses, steps, rng)
    cells = draw(plan, steps, course, rng)
    metadata = _metadata(plan, trial_ids, statuses, steps, course, rng)
    oddities = _oddities(plan, statuses, steps, course)
    header = ",".join(("step", *metric_columns(plan))).encode() + b"\n"
    folder, measurements = f"{ROOT}/{plan.path}", 0
    members: list[Member] = [(folder, None), (f"{folder}/study.json", _json(plan.study_json()))]
    for index, (trial_id, described) in enumerate(zip(trial_ids, metadata, strict=True)):
        trial, length = f"{folder}/{trial_id}", course.length[index]
        lines = _csv_lines(steps[:length], cells[index, :length])
        if statuses[index] == "INFEASIBLE":
            lines = _last_line(lines, b"nan")
        file = oddities[index].written(header, lines) if index in oddities else header + lines
        members += [
            (trial, None),
            (f"{trial}/metadata.json", _json(described)),
            (f"{trial}/measurements.csv", file),
        ]
        measurements += max(0, file.count(b"\n") - 1)
    return members, measurements


def _csv_lines(steps: Ints, cells: NDArray[np.int32]) -> bytes:
    """The lines of a trial, such as b"0,0.900000,2.300000\\n10,0.500000,1.100000\\n".

    The cells are (rows, columns) in millionths.
    """
    frame = pl.DataFrame(cells / ONE, orient="row").insert_column(0, pl.Series("step", steps))
    return frame.write_csv(include_header=False, float_precision=6).encode()


def _course(
    plan: StudyPlan, statuses: NDArray[np.str_], steps: Ints, rng: np.random.Generator
) -> Course:
    """When trials get past the goal and end; of those that count, one does so as planted."""
    count, planned = len(statuses), plan.evaluations + 1
    quality = np.abs(rng.standard_normal(count)).astype(np.float32) + np.float32(0.05)
    complete, incomplete, infeasible = (np.flatnonzero(statuses == status) for status in STATUSES)
    length = np.full(count, planned)
    longer = complete[rng.random(len(complete)) < 0.1]
    length[longer] = rng.integers(planned, len(steps), len(longer), endpoint=True)
    if plan.train_steps == 0:
        length[complete] = rng.integers(planned * 7 // 10, len(steps), len(complete), endpoint=True)
    length[incomplete] = rng.integers(1, planned, len(incomplete))
    length[infeasible] = rng.integers(1, max(2, planned // 3), len(infeasible))
    equal = np.full(count, -1)
    crossing = np.full(count, len(steps))
    if plan.steps_to_goal is not None:
        planted = int(np.searchsorted(steps, plan.steps_to_goal))
        later = np.searchsorted(steps, plan.steps_to_goal * np.exp(quality))
        crossing = np.maximum(later, planted + 1)
        counted = complete[: plan.trial_limit]
        if len(counted):
            best, *others = rng.permutation(counted)[:3].tolist()
            quality[best], crossing[best] = 0, planted
            if len(counted) >= _TRAPPED:
                crossing[others[0]], equal[others[1]] = planted, planted - 1
                length[others[1]] = planned
        for trap in (complete[plan.trial_limit :], incomplete, infeasible):
            crossing[trap[:1]] = planted - 3
            length[trap[:1]] = np.maximum(length[trap[:1]], planted)
    return Course(crossing, length, quality, equal)


def _oddities(
    plan: StudyPlan, statuses: NDArray[np.str_], steps: Ints, course: Course
) -> dict[int, Oddity]:
    """Which trials get an unusual file, by position; never one that gets to the goal first."""
    found: dict[int, Oddity] = {}
    first = -1 if plan.steps_to_goal is None else np.searchsorted(steps, plan.steps_to_goal)
    for odd in _ODDITIES if plan.odd else ():
        for index in reversed(np.flatnonzero(statuses == odd.status).tolist()):
            plain = (
                index not in found and first != course.crossing[index] and course.equal[index] < 0
            )
            if plain and course.length[index] >= odd.fewest_lines:
                found[index] = odd
                break
    return found


def _metadata(
    plan: StudyPlan,
    trial_ids: list[int],
    statuses: NDArray[np.str_],
    steps: Ints,
    course: Course,
    rng: np.random.Generator,
) -> list[dict[str, object]]:
    """The contents of every metadata.json."""
    positions = rng.random((len(trial_ids), MOST_METAPARAMETERS))
    # The better a trial, the nearer its learning rate to the middle of the range; those that
    # diverge have the highest ones.
    side = np.where(positions[:, 0] < 0.5, -1, 1)
    learning_rate = np.clip(0.55 + 0.12 * side * course.quality, 0, 0.999)
    positions[:, 0] = np.where(statuses == "INFEASIBLE", 0.8 + 0.2 * positions[:, 0], learning_rate)
    space = list(plan.search_space().items())
    return [
        {
            "_internal_study_name": f"made-up-{plan.path.replace('/', '-')}",
            "_internal_trial_id": trial_id,
            "parameters": {
                name: int(value) if config.to_json()["type"] == "INTEGER" else value
                for (name, config), position in zip(space, row, strict=False)
                for value in [config.at(position)]
            },
            "status": str(status),
            "steps": int(steps[length - 1]),
            "trial_id": trial_id,
        }
        for trial_id, status, length, row in zip(
            trial_ids, statuses, course.length, positions.tolist(), strict=True
        )
    ]


def _json(value: object) -> bytes:
    return json.dumps(value, indent=2, sort_keys=True).encode()


def _last_line(text: bytes, value: bytes) -> bytes:
    start = text.rfind(b"\n", 0, -1) + 1
    step, *cells = text[start:].rstrip(b"\n").split(b",")
    return text[:start] + b",".join([step, *(value for _ in cells)]) + b"\n"


def _missing(header: bytes, text: bytes) -> bytes:
    """Without values in the first line but one, and in others with none but the goal's."""
    names = header.rstrip(b"\n").split(b",")
    lines = text.splitlines()
    for number in range(1, len(lines), 2):
        cells = lines[number].split(b",")
        for column, name in enumerate(names[1:], start=1):
            if number == 1 or not name.startswith(b"val/"):
                cells[column] = b""
        lines[number] = b",".join(cells)
    return header + b"\n".join(lines) + b"\n"


def _unsorted(header: bytes, text: bytes) -> bytes:
    lines = text.splitlines(keepends=True)
    return header + b"".join(lines[:-3] + lines[:-4:-1])


def _unknown_metric(header: bytes, text: bytes) -> bytes:
    lines = [line + b",%d.5\n" % number for number, line in enumerate(text.splitlines())]
    return header.rstrip(b"\n") + b",val/perplexity\n" + b"".join(lines)


def _short_numbers(header: bytes, text: bytes) -> bytes:
    """Decimals without their trailing zeros, or with an exponent."""
    lines = []
    for line in text.splitlines():
        step, *cells = line.split(b",")
        short = [b"%se-06" % str(int(cell.replace(b".", b""))).encode() for cell in cells[:1]]
        rest = [cell.rstrip(b"0").rstrip(b".") for cell in cells[1:]]
        lines.append(b",".join([step, *short, *rest]) + b"\n")
    return header + b"".join(lines)


_ODDITIES = (
    Oddity("INFEASIBLE", lambda _header, _text: b""),
    Oddity("INFEASIBLE", lambda header, _text: header),
    Oddity("INFEASIBLE", lambda header, text: header + _last_line(text, b"inf")),
    Oddity("COMPLETE", _missing, 6),
    # The last line twice.
    Oddity("COMPLETE", lambda header, text: header + text + text.splitlines(keepends=True)[-1], 2),
    Oddity("COMPLETE", _unsorted, 3),
    Oddity("COMPLETE", _unknown_metric),
    Oddity("COMPLETE", _short_numbers),
)
