"""`dbtool fetch NAME` and `dbtool import NAME` as a person meets them."""

from dbtool.sources.public.catalog import public_sources


def test_the_commands_list_and_import_sources(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    listed = call("fetch", "--list").output
    assert all(name in listed for name in public_sources())
    logs = tmp_path / "logs" / "results"
    logs.mkdir(parents=True)
    (logs / "a.txt").write_text("step:250/250 val_loss:3.2\n")
    said = call("import", "modded-nanogpt", "logs", "--db", "db")
    assert said.code == 0
    assert "added 1 trial and 1 measurement to modded-nanogpt" in said.errors
