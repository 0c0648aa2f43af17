"""The release's table and the catalog: the published totals, and agreement with the producers."""

from __future__ import annotations

from collections import Counter

import pytest

from dbtool.archive.table import CatalogWorkload, catalog, published_studies
from producers.workloads.registry import WORKLOADS


def by_name() -> dict[str, CatalogWorkload]:
    return {workload.workload: workload for workload in catalog()}


def test_table_has_the_published_totals() -> None:
    studies = published_studies()
    assert len(studies) == len({study.path for study in studies}) == 454
    assert sum(study.complete for study in studies) == 108_194
    assert sum(study.incomplete for study in studies) == 43_508
    assert sum(study.infeasible for study in studies) == 42_697
    assert sum(study.trials for study in studies) == 194_399


def test_catalog_names_every_workload_of_the_table_once() -> None:
    names = [workload.workload for workload in catalog()]
    assert len(names) == 35
    assert names == sorted(names)
    assert set(names) == {study.workload for study in published_studies()}
    assert sum(len(workload.batch_sizes) for workload in catalog()) == 454
    assert sum(workload.infeasible for workload in catalog()) == 42_697


def test_a_known_workload() -> None:
    found = by_name()["mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum"]
    assert (found.collection, found.dataset, found.model, found.optimizer) == (
        "mnist_subsets",
        "mnist_6875",
        "simple_cnn_base",
        "nesterov_momentum",
    )
    assert (found.metric, found.goal, found.maximize) == ("val_classification_error", 0.02, False)
    assert found.train_examples == 6_875
    assert found.batch_sizes == (*(2**k for k in range(13)), 6_875)
    assert dict(found.certainty)["goal"] == "stated"


def test_collections_hold_eight_workloads() -> None:
    assert Counter(workload.collection for workload in catalog()) == {
        None: 27,
        "mnist_subsets": 4,
        "imagenet_subsets": 2,
        "solution_quality": 2,
    }


def test_the_maximised_metric_is_average_precision() -> None:
    assert {workload.metric for workload in catalog() if workload.maximize} == {
        "val_average_precision"
    }
    assert [workload.dataset for workload in catalog() if workload.maximize] == ["open_images_v4"]


def test_language_models_have_goals_of_cross_entropy() -> None:
    for workload in catalog():
        language = workload.dataset in {"lm1b", "common_crawl"}
        assert (workload.metric == "val_cross_entropy_error") == language


def test_figures_use_fifty_trials_of_three_workloads() -> None:
    assert {workload.workload: 50 for workload in catalog() if workload.trial_limit != 100} == {
        "common_crawl/transformer_base/nesterov_momentum": 50,
        "lm1b/lstm/nesterov_momentum": 50,
        "lm1b/transformer_shallow/sgd": 50,
    }


def test_every_known_setting_says_how_sure_it_is() -> None:
    for workload in catalog():
        certainty = dict(workload.certainty)
        assert set(certainty.values()) <= {"stated", "recalled", "chosen"}
        assert ("train_examples" in certainty) == (workload.train_examples is not None)
        assert {"goal", "batch_sizes", "trial_limit"} <= set(certainty)


def test_producers_train_every_published_workload() -> None:
    assert by_name().keys() <= WORKLOADS.keys()


@pytest.mark.parametrize("name", by_name())
def test_producers_agree_with_the_catalog(name: str) -> None:
    trained, published = WORKLOADS[name], by_name()[name]
    for fact in ("collection", "dataset", "model", "optimizer", "metric", "goal", "maximize"):
        assert getattr(trained, fact) == getattr(published, fact), fact
    # Of some data sets nobody has said how many examples the published studies trained on.
    assert published.train_examples in {None, trained.train_examples}
    assert tuple(sorted(trained.batch_sizes)) == published.batch_sizes
