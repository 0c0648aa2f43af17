"""The columns and paths of shards, and the catalog: published totals, and what figures need."""

from collections import Counter

import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core import contract
from dbtool.core.catalog import catalog, published_studies
from dbtool.core.files import sha256_of
from tests.support.made_up import curve, write_shard


@given(st.lists(st.text(min_size=1), min_size=2, max_size=2, unique=True))
def test_each_workload_has_a_folder_of_its_own(names):
    encodable = [name.encode(errors="replace").decode() for name in names]
    first, second = (contract.study_path(name, 8) for name in encodable)
    assert (first == second) == (encodable[0] == encodable[1])
    for path in (first, second):
        assert path.isascii()
        assert path.count("/") == 2
        assert not any(part.startswith(".") for part in path.split("/"))


def test_a_shard_lies_where_the_contract_says(tmp_path):
    path = write_shard(
        tmp_path,
        workload="some/digits & ü/../fc_8/sgd",
        batch_size=32,
        trials=[(3, "COMPLETE", {}, curve([0.9, 0.5])), (7, "INFEASIBLE", {}, curve([0.9]))],
    )
    folder = "measurements/workload=some%2Fdigits%20%26%20%C3%BC%2F..%2Ffc_8%2Fsgd/batch_size=32"
    assert path.relative_to(tmp_path).as_posix() == f"{folder}/{sha256_of(path)[:32]}.parquet"
    table = pq.read_table(path, partitioning=None)
    assert table.schema.remove_metadata().equals(contract.shard_schema().remove_metadata())
    assert table.num_rows == 12


def test_the_catalog_has_the_published_totals_and_names_every_workload_of_the_table_once():
    studies = published_studies()
    assert len(studies) == len({study.path for study in studies}) == 454
    counts = ((each.complete, each.incomplete, each.infeasible, each.trials) for each in studies)
    assert [sum(count) for count in zip(*counts, strict=True)] == [108_194, 43_508, 42_697, 194_399]
    known = {workload.workload: workload for workload in catalog()}
    assert len(known) == len(catalog()) == 35
    assert list(known) == sorted({study.workload for study in studies})
    assert sum(len(workload.studies) for workload in catalog()) == 454
    subset = known["mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum"]
    assert (subset.metric, subset.goal) == ("val_classification_error", 0.02)
    assert subset.train_examples == 6_875
    assert subset.batch_sizes == (*(2**k for k in range(13)), 6_875)
    assert Counter(workload.collection for workload in catalog()) == {
        None: 27, "mnist_subsets": 4, "imagenet_subsets": 2, "solution_quality": 2,
    }  # fmt: skip
    assert {name: each.metric for name, each in known.items() if each.maximize} == {
        "open_images_v4/resnet_50/nesterov_momentum": "val_average_precision"
    }
    assert {name: each.trial_limit for name, each in known.items() if each.trial_limit != 100} == {
        "common_crawl/transformer_base/nesterov_momentum": 50,
        "lm1b/lstm/nesterov_momentum": 50,
        "lm1b/transformer_shallow/sgd": 50,
    }
