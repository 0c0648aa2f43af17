"""The data sets that workloads train on: found or fetched, verified, read and split."""

from producers.datasets.forms import ImageForm
from producers.datasets.mnist.locate import SOURCES, DataSource, find_source, locate
from producers.datasets.registry import load_dataset
from producers.datasets.split import Dataset, Examples, ExampleSource, Split

__all__ = [
    "SOURCES",
    "DataSource",
    "Dataset",
    "ExampleSource",
    "Examples",
    "ImageForm",
    "Split",
    "find_source",
    "load_dataset",
    "locate",
]
