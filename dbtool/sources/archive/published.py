"""Frozen facts about the archive that Shallue et al. published."""

from __future__ import annotations

FILE_NAME = "batch_science_data.tar.bz2"
URL = "https://storage.googleapis.com/batch_science_data/batch_science_data.tar.bz2"
SHA256 = "6460ab86a6ab0f22a02e1c9b982e1ca31220bf41f669304ce86f14d19053f435"
# The release states its size only in rounded megabytes; the hash decides.
ABOUT_BYTES = 802_000_000

RELEASE = "published"
TITLE = "Measuring the Effects of Data Parallelism on Neural Network Training: the raw measurements"
LICENCE = "The release names no licence: ask its authors before you pass the data on."
CITATION = """\
@article{shallue2019measuring,
  title = {Measuring the Effects of Data Parallelism on Neural Network Training},
  author = {Shallue, Christopher J. and Lee, Jaehoon and Antognini, Joseph and
            Sohl-Dickstein, Jascha and Frostig, Roy and Dahl, George E.},
  journal = {Journal of Machine Learning Research},
  volume = {20},
  number = {112},
  pages = {1--49},
  year = {2019},
  url = {https://www.jmlr.org/papers/v20/18-789.html},
}
"""
