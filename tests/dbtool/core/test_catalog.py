"""The release's table and the catalog: the published totals, and what figures need."""

from collections import Counter

from dbtool.core.catalog import catalog, published_studies


def test_table_has_the_published_totals():
    studies = published_studies()
    assert len(studies) == len({study.path for study in studies}) == 454
    counts = ((each.complete, each.incomplete, each.infeasible, each.trials) for each in studies)
    assert [sum(count) for count in zip(*counts, strict=True)] == [108_194, 43_508, 42_697, 194_399]
    # The catalog names every workload of the table once.
    names = [workload.workload for workload in catalog()]
    assert len(names) == 35
    assert names == sorted({study.workload for study in studies})
    assert sum(len(workload.studies) for workload in catalog()) == 454


def test_what_the_figures_need_of_the_workloads():
    known = {workload.workload: workload for workload in catalog()}
    found = known["mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum"]
    assert found.collection == "mnist_subsets"
    assert (found.metric, found.goal, found.maximize) == ("val_classification_error", 0.02, False)
    assert found.train_examples == 6_875
    assert found.batch_sizes == (*(2**k for k in range(13)), 6_875)
    assert Counter(workload.collection for workload in catalog()) == {
        None: 27, "mnist_subsets": 4, "imagenet_subsets": 2, "solution_quality": 2,
    }  # fmt: skip
    assert {name: each.metric for name, each in known.items() if each.maximize} == {
        "open_images_v4/resnet_50/nesterov_momentum": "val_average_precision"
    }
    for name, workload in known.items():
        language = name.startswith(("lm1b/", "common_crawl/"))
        assert (workload.metric == "val_cross_entropy_error") == language
        assert (workload.train_examples_certainty is None) == (workload.train_examples is None)
    assert {name: each.trial_limit for name, each in known.items() if each.trial_limit != 100} == {
        "common_crawl/transformer_base/nesterov_momentum": 50,
        "lm1b/lstm/nesterov_momentum": 50,
        "lm1b/transformer_shallow/sgd": 50,
    }
