"""Every random number of a trial follows from one recorded seed.

A study's seed is drawn from the sweep's root seed, the workload's name and the batch size; a
trial's seed from the study's seed and the trial id. None depends on how trials are blocked or on
the device.
"""

import hashlib

# A stream each for things that must not share random numbers.
BATCHES = 1
SEARCH = 2
AUGMENTATION = 3


def derived_seed(*parts: object) -> int:
    """Derive a seed in [0, 2**31) from the parts, the same on every machine."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def study_seed(root: int, workload: str, batch_size: int) -> int:
    """Return the seed of one study of a sweep."""
    return derived_seed("study", root, workload, batch_size)


def trial_seed(study: int, trial_id: int) -> int:
    """Return the seed of one trial, for its initial weights and its batch order."""
    return derived_seed("trial", study, trial_id)
