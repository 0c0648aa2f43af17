"""The image data sets that workloads train on: found or fetched, verified, read and split."""

from producers.datasets.forms import Form, ImageForm, TextForm
from producers.datasets.idx import read_idx
from producers.datasets.images import (
    VALIDATION_SPLIT_SEED,
    load_images,
    load_source,
)
from producers.datasets.locate import DATASETS_VARIABLE, VerifiedFile, locate
from producers.datasets.sources import (
    SOURCES,
    DataFile,
    DataSource,
    DebianPackage,
    NpmPackage,
    find_source,
)
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
    "ImageForm",
    "NpmPackage",
    "Split",
    "TextForm",
    "VerifiedFile",
    "find_source",
    "load_images",
    "load_source",
    "locate",
    "read_idx",
]
