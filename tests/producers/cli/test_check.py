"""`dbtool produce --check FILE`: what one step of a user's own workloads shows to be odd."""

import re
from pathlib import Path

import pytest

from tests.dbtool.cli.conftest import Call
from tests.support.own_workload import FILE, NAME

pytestmark = pytest.mark.usefixtures("registries_as_before")
ERROR = "val_classification_error"
# The middles of the ranges, of the evenly searched rate too.
CENTRE = "learning_rate=0.052, nudge=0.55"


@pytest.fixture(autouse=True)
def _beside_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)


def test_nothing_is_odd_and_nothing_is_written(path, call):
    done = call("produce", "--check", path.name)
    assert (done.code, done.errors) == (0, "")
    change = re.fullmatch(
        rf"{NAME} at batch size 4: nothing is odd; one step takes train_cross_entropy_error from "
        r"([\d.]+) to ([\d.]+)\n",
        done.output,
    )
    assert change is not None, done.output
    # The stripes are told apart along a line: a step downhill lowers the loss.
    assert float(change[2]) < float(change[1])
    assert list(path.parent.iterdir()) == [path]


STEP = 'optax.scale_by_lion(m["nudge"])'
WIDE = "learning_rate is searched evenly from 0.002 to 0.102, so that nine in ten trials lie above "


def odd(call: Call, path: Path, *changes: tuple[str, str]) -> list[str]:
    """What is said of the file with these changes."""
    text = FILE
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    path.write_text(text)
    done = call("produce", "--check", path.name)
    assert (done.code, done.errors) == (1, "")
    lines = done.output.splitlines()
    assert all(line.startswith(f"{NAME}: ") for line in lines)
    return [line.removeprefix(f"{NAME}: ") for line in lines]


def test_each_oddity_is_a_sentence(path, call):
    wide, still, easy = odd(
        *(call, path),
        ('Range(1e-3, 0.1, "LOG_SCALE")', "Range(2e-3, 0.102)"),
        (STEP, 'optax.scale(m["nudge"] * 0)'),
        ("goal=0.1", "goal=1.0"),
    )
    assert wide == f"{WIDE}0.012; give its Range LOG_SCALE"
    assert still.startswith(f"one step with {CENTRE} leaves train_cross_entropy_error at ")
    assert easy == f"it is past its goal, {ERROR} < 1, before its first step; set a harder goal"


WARMING = """MODELS = [MODEL]
from producers.own import ScheduleDefinition
SCHEDULES = [ScheduleDefinition("warm_up", lambda m, step: m["learning_rate"] * step)]
"""


@pytest.mark.parametrize(
    ("direction", "sentence"),
    [
        ('optax.sgd(m["learning_rate"])', "the first direction of rule raises the loss of its own"),
        ('optax.scale(m["nudge"] * 0)', "two steps with learning_rate=0.01, nudge=0.55 leave "),
    ],
    ids=["ascends", "still"],
)
def test_a_rate_that_is_0_at_first_hides_no_oddity(direction, sentence, path, call):
    changes = (("MODELS = [MODEL]\n", WARMING), ('"constant"', '"warm_up"'), (STEP, direction))
    [found] = odd(call, path, *changes)
    assert found.startswith(sentence)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "self.linear(images.reshape(len(images), -1))",
            "self.linear(images.reshape(len(images), -1)) * math.nan",
            "its loss is not a finite number before any step",
        ),
        (
            STEP,
            'optax.scale(m["nudge"] * math.inf)',
            "its loss is not a finite number after one step with learning_rate=0.01, nudge=0.55",
        ),
        (
            "goal=0.1",
            "goal=10.0",
            f"the goal 10 is not a share from 0 to 1, as {ERROR} is; 10 % is 0.1",
        ),
    ],
    ids=["NaN", "diverged", "goal"],
)
def test_an_oddity_is_one_sentence(old, new, sentence, path, call):
    [found] = odd(call, path, (old, new))
    assert found.startswith(sentence)
