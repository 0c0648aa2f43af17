"""The replica writer: its files hold what it says, whatever their layout and order."""

import json
from pathlib import Path

import pandas as pd

from tests.replica import plan_study
from tests.support.archives import Replica

CHECKOUT = Path(__file__).resolve().parents[2]
MNIST = "mnist/simple_cnn_base/nesterov_momentum"
PLANS = (
    plan_study(MNIST, 1, odd=True),
    plan_study(MNIST, 64, complete=110, incomplete=10, evaluations=40),
    plan_study("open_images_v4/resnet_50/nesterov_momentum", 1_024),
    plan_study("mnist/fc_1024/sgd", 8, complete=0),
    plan_study(f"solution_quality/{MNIST}", 64),
    plan_study("lm1b/lstm/nesterov_momentum", 16, complete=20),
)


def test_traps_are_set(replica: Replica) -> None:
    plan = PLANS[1]
    frames = []
    for path in (replica.root / plan.path).glob("*/metadata.json"):
        trial = json.loads(path.read_text())
        frames.append(pd.read_csv(path.with_name("measurements.csv")).assign(**trial, ids=None))
    rows = pd.concat(frames).rename(columns={"val/classification_error": "value"})
    first = plan.steps_to_goal
    past = rows[rows["value"] < plan.goal].groupby(["status", "trial_id"])["step"].min()
    complete = rows[rows["status"] == "COMPLETE"]
    ids = sorted(complete["trial_id"].unique())
    counted = ids[: plan.trial_limit]
    # Past the hundred trials that count, one gets to the goal earlier; and of other statuses.
    assert past["COMPLETE"].min() < first
    assert past["INCOMPLETE"].min() < first
    assert past["INFEASIBLE"].min() < first
    # Two that count get there at the same step, and none before it.
    of_counted = past["COMPLETE"][past["COMPLETE"].index.isin(counted)]
    assert (of_counted.min(), (of_counted == first).sum()) == (first, 2)
    # One is at the goal before, which is not past it.
    before = complete[complete["trial_id"].isin(counted) & (complete["step"] < first)]
    assert before["value"].min() == plan.goal
    assert sorted(ids, key=str) != ids
