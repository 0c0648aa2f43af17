"""A release that lies in two folders, once whole and once reduced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.made_up import curve, write_shard
from typer.testing import CliRunner

from dbtool.cli.main import app
from dbtool.errors import UsageError
from dbtool.release.copies import refuse_copies
from dbtool.release.manifest import MANIFEST
from dbtool.release.merge import merge_shards
from dbtool.release.reduction import Reduction

if TYPE_CHECKING:
    from pathlib import Path

WHOLE, EVALUATIONS = Reduction(), Reduction(then_one_in=None)


def release(
    folder: Path, trials: range, reduction: Reduction = WHOLE, name: str = "mine", size: int = 8
) -> Path:
    """A release folder of one study with these trials."""
    shard = write_shard(
        folder.with_name(f"shards of {folder.name}"),
        batch_size=size,
        trials=[(trial, "COMPLETE", {}, curve([0.9, 0.5])) for trial in trials],
    )
    merge_shards([shard], folder, release=name, reduction=reduction)
    return folder


def test_a_sample_beside_its_release_is_named(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    sample = release(data / "a sample", range(2), EVALUATIONS)
    whole = release(data / "whole", range(2))
    (data / "damaged").mkdir()
    (data / "damaged" / MANIFEST).write_text("{}")
    expected = (
        f"{whole} (22 measurements) and {sample} (4) hold the same trials of the release 'mine': "
        f"name one of them, such as {whole}"
    )
    for paths in ([data], [sample, whole], [data, data]):
        with pytest.raises(UsageError) as caught:
            refuse_copies(paths)
        assert str(caught.value) == expected
    refuse_copies([sample])
    refuse_copies([whole, whole])


def test_other_trials_releases_and_equal_copies_go_together(tmp_path: Path) -> None:
    release(tmp_path / "all" / "first", range(2))
    release(tmp_path / "all" / "second", range(2, 4), EVALUATIONS)
    release(tmp_path / "all" / "other", range(2), EVALUATIONS, "other")
    release(tmp_path / "all" / "size", range(2), EVALUATIONS, size=16)
    release(tmp_path / "all" / "copy", range(2))
    refuse_copies([tmp_path / "all"])


@pytest.mark.parametrize("command", [["ingest"], ["merge", "--release", "mine"]])
def test_commands_refuse_before_they_write(tmp_path: Path, command: list[str]) -> None:
    release(tmp_path / "data" / "whole", range(2))
    release(tmp_path / "data" / "sample", range(2), EVALUATIONS)
    out = tmp_path / "out"
    option = ["--db" if command[0] == "ingest" else "--out", str(out)]
    outcome = CliRunner().invoke(app, [command[0], str(tmp_path / "data"), *command[1:], *option])
    assert isinstance(outcome.exception, UsageError)
    assert not out.exists()
