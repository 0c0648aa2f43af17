"""Made-up images that a network learns in a few steps: a bright stripe tells the class."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

TRAIN_EXAMPLES = 880
"""What is left of the 960 images when one in twelve is held out."""


def write_stripes(folder: Path) -> Path:
    """Writes such images in the format of MNIST and returns the folder."""
    random = np.random.default_rng(7)
    for split, count in (("train", 960), ("t10k", 80)):
        labels = np.arange(count, dtype=np.uint8) % 10
        images = random.integers(0, 128, (count, 28, 28), dtype=np.uint8)
        images[np.arange(count), :, 2 * labels + 4] += 100
        header = struct.pack(">4i", 0x00000803, *images.shape)
        (folder / f"{split}-images-idx3-ubyte").write_bytes(header + images.tobytes())
        header = struct.pack(">2i", 0x00000801, count)
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(header + labels.tobytes())
    return folder
