import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError
from producers.datasets.forms import IMAGENET, ImageForm
from producers.datasets.imagenet.images import half_of_classes, half_of_images
from producers.datasets.registry import load_dataset
from producers.datasets.split import (
    Dataset,
    HeldOut,
    Split,
    fixed_permutation,
    split_order,
)
from producers.datasets.streamed import decode
from tests.support.image_files import (
    encoded,
    picture,
    read,
    record,
    write_class_folders,
    write_shards,
)

FORM = replace(IMAGENET, height=16, width=16)
CLASSES = ("n01440764", "n01443537", "n02123045", "n03041632")
TRAINING = {
    name: [encoded(picture(100 * label + number)) for number in range(13)]
    for label, name in enumerate(CLASSES)
}
VALIDATION = {
    name: [encoded(picture(100 * label + 50 + number)) for number in range(3)]
    for label, name in enumerate(CLASSES)
}

LABELS = st.lists(st.integers(0, 4), min_size=1, max_size=80).map(lambda x: np.array(x, "i4"))


def listed(images: dict[str, list[bytes]]) -> list[tuple[bytes, int]]:
    return [
        (content, label)
        for label, contents in enumerate(images.values(), start=1)
        for content in contents
    ]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folders")
    write_class_folders(folder / "train", TRAINING)
    write_class_folders(folder / "val", VALIDATION)
    (folder / "train" / ".DS_Store").touch()
    (folder / "train" / CLASSES[0] / "notes.txt").touch()
    return folder


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    # Written one shard after another, so that the numbers are those of the class folders.
    write_shards(folder, "train", listed(TRAINING), 1)
    write_shards(folder, "validation", listed(VALIDATION), 1)
    return folder


@pytest.fixture
def copied(folders: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folders, tmp_path / "copied"))


def load(folder: Path, subset: str | None = None) -> Dataset:
    return load_dataset("imagenet", form=FORM, folder=folder, subset=subset)


def images(split: Split) -> list[bytes]:
    return [image.tobytes() for image in split.inputs]


def test_every_image_is_decoded_from_its_own_file(folders):
    data = load(folders)
    labels = {
        decode(content, "x", FORM).tobytes(): label - 1
        for content, label in listed(TRAINING) + listed(VALIDATION)
    }
    train, validation, test = map(read, (data.train, data.validation, data.test))
    # 50,045 of 1,281,167 are 2 of 52.
    assert (len(train), len(validation), len(test)) == (50, 12, 2)
    for split in (train, validation, test):
        assert [labels[image] for image in images(split)] == split.targets.tolist()
        assert split.inputs.shape[1:] == (16, 16, 3)
    expected = {decode(content, "x", FORM).tobytes() for content, _ in listed(TRAINING)}
    assert {*images(train), *images(test)} == expected
    official = [decode(content, "x", FORM).tobytes() for content, _ in listed(VALIDATION)]
    assert images(validation) == official
    assert isinstance(data.form, ImageForm)
    assert (data.form.classes, data.form.mean) == (4, IMAGENET.mean)


@pytest.mark.parametrize("subset", [None, "half_images", "half_classes"])
def test_shards_equal_class_folders(folders, shards, subset):
    one, other = load(folders, subset), load(shards, subset)
    assert one.form == other.form
    for split in ("train", "validation", "test"):
        ours, theirs = read(getattr(one, split)), read(getattr(other, split))
        np.testing.assert_array_equal(ours.inputs, theirs.inputs, strict=True)
        np.testing.assert_array_equal(ours.targets, theirs.targets, strict=True)


def test_shards_may_be_many_and_lie_by_split(tmp_path, shards):
    write_shards(tmp_path / "train", "train", listed(TRAINING), 5)
    write_shards(tmp_path / "validation", "validation", listed(VALIDATION), 2)
    one, other = load(tmp_path), load(shards)
    for split in ("train", "validation"):
        assert len(getattr(one, split)) == len(getattr(other, split))
    assert sorted(images(read(one.validation))) == sorted(images(read(other.validation)))


def test_half_of_the_images_is_of_training_alone(folders):
    whole, half = load(folders), load(folders, "half_images")
    assert set(images(read(half.train))) < set(images(read(whole.train)))
    assert images(read(half.validation)) == images(read(whole.validation))
    assert images(read(half.test)) == images(read(whole.test))


def test_half_of_the_classes_is_numbered_anew_everywhere(folders):
    whole, half = load(folders), load(folders, "half_classes")
    assert isinstance(half.form, ImageForm)
    assert half.form.classes == 2
    old = dict(zip(images(read(whole.train)), read(whole.train).targets.tolist(), strict=True))
    split = read(half.train)
    pairs = {(old[image], new) for image, new in zip(images(split), split.targets, strict=True)}
    kept = sorted(label for label, _ in pairs)
    assert sorted(pairs) == [(kept[0], 0), (kept[1], 1)]
    assert len(split.targets) == sum(label in kept for label in old.values())
    assert np.bincount(read(half.validation).targets).tolist() == [3, 3]


def test_augmentation_follows_from_the_generator_alone(folders):
    train = load(folders).train
    assert not isinstance(train, Split)
    numbers = np.array([3, 1, 3, 7])
    one, same, other = (train.read(numbers, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.inputs, same.inputs)
    assert (one.inputs != other.inputs).any()
    assert (one.inputs[0] != one.inputs[2]).any()
    assert one.targets.tolist() == train.read(numbers, None).targets.tolist()


def test_corrupt_images_are_named(copied, tmp_path):
    damaged = copied / "val" / CLASSES[1] / f"{CLASSES[1]}_00.JPEG"
    damaged.write_bytes(damaged.read_bytes()[:300])
    with pytest.raises(DbtoolError, match=f"^{damaged} is a damaged image"):
        read(load(copied).validation)
    write_shards(tmp_path, "train", listed(TRAINING), 1)
    write_shards(tmp_path, "validation", [(b"GIF", 1)], 1)
    shard = tmp_path / "validation-00000-of-00001"
    with pytest.raises(DbtoolError, match=rf"^{shard} \(its record at byte 0\) is a damaged image"):
        read(load(tmp_path).validation)


def test_impossible_labels_are_refused(copied, tmp_path):
    write_shards(tmp_path, "train", listed(TRAINING), 1)
    write_shards(tmp_path, "validation", [(VALIDATION[CLASSES[0]][0], 5)], 1)
    with pytest.raises(DbtoolError, match=r"has the label 5, outside 1 to 4; replace the file"):
        read(load(tmp_path).validation)
    write_shards(tmp_path, "train", [(TRAINING[CLASSES[0]][0], 0)] * 2, 1)
    with pytest.raises(DbtoolError, match="has the label 0, outside 1; replace the file"):
        load(tmp_path)
    (copied / "val" / CLASSES[0]).rename(copied / "val" / "n99999999")
    with pytest.raises(DbtoolError, match="n99999999 is the folder of an unknown class; closest"):
        load(copied)


def test_shards_must_be_whole_sets(tmp_path):
    paths = write_shards(tmp_path, "train", listed(TRAINING), 4)
    with pytest.raises(DbtoolError, match="holds train shards and no validation shards; add valid"):
        load(tmp_path)
    write_shards(tmp_path, "validation", listed(VALIDATION), 1)
    paths[2].rename(tmp_path / "gone")
    with pytest.raises(DbtoolError, match="lacks 1 of 4 train shards, first train-00002-of-00004"):
        load(tmp_path)
    (tmp_path / "gone").rename(paths[2])
    (tmp_path / "train-00000-of-00002").write_bytes(record(b""))
    with pytest.raises(DbtoolError, match=r"several sets of train shards \(of 00002, 00004\)"):
        load(tmp_path)
    (tmp_path / "train-00000-of-00002").unlink()
    paths[0].write_bytes(paths[0].read_bytes()[:-1])
    with pytest.raises(DbtoolError, match="train-00000-of-00004 is not a TFRecord file, or"):
        load(tmp_path)


def test_folders_that_lack_something_are_refused(copied):
    (copied / "train" / "n00000000").mkdir()
    with pytest.raises(DbtoolError, match="n00000000 holds no JPEG files; fill the folder or rem"):
        load(copied)
    (copied / "train" / "n00000000").rmdir()
    shutil.rmtree(copied / "val")
    with pytest.raises(DbtoolError, match="holds train and no val; add the official validation"):
        load(copied)
    (copied / "val").mkdir()
    (copied / "val" / "ILSVRC2012_val_00000001.JPEG").touch()
    with pytest.raises(DbtoolError, match="val holds no class folders; sort its images into a fol"):
        load(copied)


def test_small_replacement_without_validation_of_half_the_classes_is_refused(tmp_path):
    for name in ("train", "val"):
        few = {label: contents[:1] for label, contents in TRAINING.items()}
        write_class_folders(tmp_path / name, few)
    with pytest.raises(DbtoolError, match=r"half_classes has no images|from 1 to"):
        load(tmp_path, "half_classes")


def test_known_data_set_is_counted(folders, shards, tmp_path):
    for kind, folder in (("folders", folders), ("shards", shards)):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "imagenet").symlink_to(folder)
        with pytest.raises(DbtoolError, match="holds 52 training images of ImageNet, not 1,281,16"):
            load_dataset("imagenet", form=IMAGENET, datasets_dir=tmp_path / kind)


def test_lists_of_files_are_hashed(folders, copied):
    one = load(folders).file_hashes
    assert load(copied).file_hashes == one
    name = copied / "val" / CLASSES[0]
    (name / f"{CLASSES[0]}_00.JPEG").rename(name / "other.JPEG")
    other = load(copied).file_hashes
    assert {key for key in one if one[key] != other[key]} == {"list of validation"}


@given(labels=LABELS)
def test_half_of_the_images_is_half_of_every_class(labels):
    numbers = fixed_permutation(len(labels))
    half = half_of_images(numbers, labels)
    assert len(half) == len(labels) // 2
    assert len(set(half.tolist())) == len(half)
    for label in set(labels.tolist()):
        own = numbers[labels[numbers] == label]
        kept = half[labels[half] == label]
        # The first of the class in the fixed order, so that subsets do not depend on other classes.
        np.testing.assert_array_equal(kept, own[: len(kept)])
        assert abs(len(kept) - len(own) / 2) <= 1


def test_fixed_choices_never_change():
    # Other digests would make every recorded measurement one of another data set.
    digests = [
        hashlib.sha256(array.astype("<i8").tobytes()).hexdigest()[:16]
        for array in (
            half_of_classes(1_000),
            fixed_permutation(50_000),
            split_order("imagenet", 1_281_167, HeldOut(examples=50_045), 1_281_167)[0],
        )
    ]
    assert digests == ["975e9ba405c54d79", "789a86fe707d6afa", "bfcd64fc1e279063"]


@given(
    official=st.integers(2, 400),
    part=st.integers(1, 9),
    order=st.sampled_from(["random", "first", "last"]),
)
def test_held_out_and_training_share_nothing(official, part, order):
    held_out, train = split_order("x", official, HeldOut(order, part), 10)
    assert sorted([*train, *held_out]) == list(range(official))
    assert len(held_out) == min(max(1, round(official * part / 10)), official - 1)
