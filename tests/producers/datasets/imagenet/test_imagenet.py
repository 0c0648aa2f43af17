from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.image_files import encoded, picture, record, write_class_folders, write_shards

from dbtool.errors import DbtoolError
from producers.datasets import Dataset, Examples, ImageForm, Split, load_dataset
from producers.datasets.forms import IMAGENET
from producers.datasets.streamed.decode import decode

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


@pytest.fixture(autouse=True)
def _no_given_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBTOOL_DATASETS", raising=False)


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


def load(folder: Path, subset: str | None = None, train_examples: int | None = None) -> Dataset:
    return load_dataset(
        "imagenet", form=FORM, folder=folder, subset=subset, train_examples=train_examples
    )


def read(examples: Examples, augmentation: np.random.Generator | None = None) -> Split:
    assert not isinstance(examples, Split)
    return examples.read(np.arange(len(examples)), augmentation)


def images(split: Split) -> list[bytes]:
    return [image.tobytes() for image in split.inputs]


def test_every_image_is_decoded_from_its_own_file(folders: Path) -> None:
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
def test_shards_equal_class_folders(folders: Path, shards: Path, subset: str | None) -> None:
    one, other = load(folders, subset), load(shards, subset)
    assert one.form == other.form
    for split in ("train", "validation", "test"):
        ours, theirs = read(getattr(one, split)), read(getattr(other, split))
        np.testing.assert_array_equal(ours.inputs, theirs.inputs, strict=True)
        np.testing.assert_array_equal(ours.targets, theirs.targets, strict=True)


def test_shards_may_be_many_and_lie_by_split(tmp_path: Path, shards: Path) -> None:
    write_shards(tmp_path / "train", "train", listed(TRAINING), 5)
    write_shards(tmp_path / "validation", "validation", listed(VALIDATION), 2)
    one, other = load(tmp_path), load(shards)
    for split in ("train", "validation"):
        assert len(getattr(one, split)) == len(getattr(other, split))
    assert sorted(images(read(one.validation))) == sorted(images(read(other.validation)))


def test_half_of_the_images_is_of_every_class(folders: Path) -> None:
    whole, half = load(folders), load(folders, "half_images")
    assert len(half.train) == 25
    assert set(images(read(half.train))) < set(images(read(whole.train)))
    counts, of = (np.bincount(read(data.train).targets) for data in (half, whole))
    assert np.abs(2 * counts - of).max() <= 1
    assert images(read(half.validation)) == images(read(whole.validation))
    assert images(read(half.test)) == images(read(whole.test))
    fewer = load(folders, "half_images", train_examples=8)
    assert images(read(fewer.train)) == images(read(half.train))[:8]


def test_half_of_the_classes_is_numbered_anew_everywhere(folders: Path) -> None:
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


def test_augmentation_follows_from_the_generator_alone(folders: Path) -> None:
    data = load(folders)
    assert not isinstance(data.train, Split)
    numbers = np.array([3, 1, 3, 7])

    def augmented(seed: int) -> Split:
        assert not isinstance(data.train, Split)
        return data.train.read(numbers, np.random.default_rng(seed))

    one, same, other = augmented(1), augmented(1), augmented(2)
    np.testing.assert_array_equal(one.inputs, same.inputs)
    assert (one.inputs != other.inputs).any()
    assert (one.inputs[0] != one.inputs[2]).any()
    assert one.targets.tolist() == data.train.read(numbers, None).targets.tolist()
    assert not one.inputs.flags.writeable


def test_threads_read_what_one_reads(folders: Path, shards: Path) -> None:
    for folder in (folders, shards):
        train = load(folder).train
        assert not isinstance(train, Split)
        alone = read(train)
        rng = np.random.default_rng(0)
        wanted = [rng.integers(0, len(train), 9) for _ in range(24)]
        with ThreadPoolExecutor(8) as threads:
            splits = list(threads.map(train.read, wanted, [None] * len(wanted)))
        for numbers, split in zip(wanted, splits, strict=True):
            np.testing.assert_array_equal(split.inputs, alone.inputs[numbers])
            np.testing.assert_array_equal(split.targets, alone.targets[numbers])
        assert len(train.read(np.empty(0, np.int64), None)) == 0


def test_corrupt_images_are_named(copied: Path, tmp_path: Path) -> None:
    damaged = copied / "val" / CLASSES[1] / f"{CLASSES[1]}_00.JPEG"
    damaged.write_bytes(damaged.read_bytes()[:300])
    with pytest.raises(DbtoolError, match=f"^{damaged} is a damaged image"):
        read(load(copied).validation)
    damaged.unlink()
    data = load(copied)
    (copied / "val" / CLASSES[1] / f"{CLASSES[1]}_01.JPEG").unlink()
    with pytest.raises(DbtoolError, match=r"_01\.JPEG cannot be read: No such file"):
        read(data.validation)
    write_shards(tmp_path, "train", listed(TRAINING), 1)
    write_shards(tmp_path, "validation", [(b"GIF", 1)], 1)
    shard = tmp_path / "validation-00000-of-00001"
    with pytest.raises(DbtoolError, match=rf"^{shard} \(its record at byte 0\) is a damaged image"):
        read(load(tmp_path).validation)


def test_changed_data_of_a_record_is_found(tmp_path: Path) -> None:
    write_shards(tmp_path, "train", listed(TRAINING), 1)
    (path,) = write_shards(tmp_path, "validation", listed(VALIDATION), 1)
    content = bytearray(path.read_bytes())
    content[500] ^= 1
    path.write_bytes(content)
    data = load(tmp_path)
    with pytest.raises(DbtoolError, match="the CRC of its record at byte 0 is wrong"):
        read(data.validation)


def test_impossible_labels_are_refused(copied: Path, tmp_path: Path) -> None:
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


def test_shards_must_be_whole_sets(tmp_path: Path) -> None:
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
    with pytest.raises(DbtoolError, match="train-00000-of-00004 is truncated"):
        load(tmp_path)


def test_folders_that_lack_something_are_refused(copied: Path, tmp_path: Path) -> None:
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
    (tmp_path / "empty").mkdir()
    with pytest.raises(DbtoolError) as caught:
        load(tmp_path / "empty")
    assert "https://image-net.org/download.php" in str(caught.value)
    assert str(tmp_path / "empty") in str(caught.value)


def test_small_replacement_without_validation_of_half_the_classes_is_refused(
    tmp_path: Path,
) -> None:
    for name in ("train", "val"):
        few = {label: contents[:1] for label, contents in TRAINING.items()}
        write_class_folders(tmp_path / name, few)
    with pytest.raises(DbtoolError, match=r"half_classes has no images|from 1 to"):
        load(tmp_path, "half_classes")


def test_known_data_set_is_counted(folders: Path, shards: Path, tmp_path: Path) -> None:
    for kind, folder in (("folders", folders), ("shards", shards)):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "imagenet").symlink_to(folder)
        with pytest.raises(DbtoolError, match="holds 52 training images of ImageNet, not 1,281,16"):
            load_dataset("imagenet", form=IMAGENET, datasets_dir=tmp_path / kind)


def test_lists_of_files_are_hashed(folders: Path, copied: Path, shards: Path) -> None:
    assert load(folders).file_hashes == load(copied).file_hashes
    assert set(load(shards).file_hashes) == {"list of train", "list of validation"}
    name = copied / "val" / CLASSES[0]
    (name / f"{CLASSES[0]}_00.JPEG").rename(name / "other.JPEG")
    one, other = load(folders).file_hashes, load(copied).file_hashes
    assert one["list of train"] == other["list of train"]
    assert one["list of validation"] != other["list of validation"]
