"""`dbtool fetch NAME` and `dbtool import NAME` as a person meets them."""

from pathlib import Path

import pytest

from dbtool.sources.public.catalog import public_sources

from .conftest import Call


def test_the_commands_list_and_import_sources(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = call("fetch", "--list").output
    assert all(name in listed for name in public_sources())
    logs = tmp_path / "logs" / "results"
    logs.mkdir(parents=True)
    (logs / "a.txt").write_text("step:250/250 val_loss:3.2\n")
    said = call("import", "modded-nanogpt", "logs", "--db", "db")
    assert said.code == 0
    assert "added 1 trial and 1 measurement to modded-nanogpt" in said.errors
