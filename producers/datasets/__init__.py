"""The data sets that workloads train on: found or fetched, verified, read and split."""

from producers.datasets.forms import Form, ImageForm, TextForm
from producers.datasets.load import load_dataset
from producers.datasets.mnist.idx import read_idx
from producers.datasets.mnist.images import load_source
from producers.datasets.mnist.locate import VerifiedFile, locate
from producers.datasets.mnist.sources import (
    SOURCES,
    DataFile,
    DataSource,
    DebianPackage,
    NpmPackage,
    find_source,
)
from producers.datasets.permutation import VALIDATION_SPLIT_SEED, HeldOut
from producers.datasets.places import DATASETS_VARIABLE
from producers.datasets.split import Dataset, Examples, ExampleSource, Split

__all__ = [
    "DATASETS_VARIABLE",
    "SOURCES",
    "VALIDATION_SPLIT_SEED",
    "DataFile",
    "DataSource",
    "Dataset",
    "DebianPackage",
    "ExampleSource",
    "Examples",
    "Form",
    "HeldOut",
    "ImageForm",
    "NpmPackage",
    "Split",
    "TextForm",
    "VerifiedFile",
    "find_source",
    "load_dataset",
    "load_source",
    "locate",
    "read_idx",
]
