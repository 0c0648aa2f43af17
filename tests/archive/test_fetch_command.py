"""`dbtool fetch` as a person meets it."""

import hashlib
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.dbtool.cli.conftest import Call, Outcome
from tests.support.file_server import Answer, serving
from tests.support.terminal import run_on_terminal

from .conftest import Fetching

OPENSSL = shutil.which("openssl")


def dbtool(
    *words: str, cwd: Path, environment: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "dbtool", *words],
        cwd=cwd,
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def words(fetching: Fetching) -> Sequence[str]:
    return ("fetch", "--url", fetching.server.url, "--sha256", fetching.sha256)


def test_prints_the_path_alone(
    call: Call,
    words: Sequence[str],
    content: bytes,
    fetching: Fetching,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    told = f"0.3 MB, sha256 {fetching.sha256}\n"
    path = "new/folder/archive.bin"
    assert call(*words, "--out", "new/folder/") == Outcome(0, f"{path}\n", f"fetched: {told}")
    again = Outcome(0, f"{path}\n", f"was there already: {told}")
    assert call(*words, "--out", "new/folder") == again
    assert Path(path).read_bytes() == content
    left = [path.name for path in Path("new/folder").iterdir() if path.name[0] != "."]
    assert (fetching.ranges, left) == ([None], ["archive.bin"])
    assert call(*words, "--out", "b.bin").output == "b.bin\n"
    # It is found where nobody may write, too.
    tmp_path.chmod(0o500)
    assert call(*words, "--out", "b.bin").code == 0
    tmp_path.chmod(0o700)
    assert Path("b.bin").read_bytes() == content


def test_help_and_a_file_that_is_there_need_no_http_library(
    words: Sequence[str], tmp_path: Path
) -> None:
    assert dbtool(*words, cwd=tmp_path)[0] == 0
    code = (
        "import sys\n"
        "from dbtool.cli.main import run\n"
        "try:\n    run(sys.argv[1:])\n"
        "except SystemExit:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    for each in (["fetch", "--help"], words):
        done = subprocess.run(
            [sys.executable, "-c", code, *each],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert not {"httpx", "rich", "duckdb", "ssl"} & set(done.stderr.split())


def test_bars_are_for_terminals(
    words: Sequence[str], fetching: Fetching, content: bytes, tmp_path: Path
) -> None:
    fetching.server.answers.append(Answer(cut=1000))
    fetching.server.default = Answer(seconds=0.5)
    words = [sys.executable, "-m", "dbtool", *words]
    with (tmp_path / "printed").open("wb") as printed:
        code, shown = run_on_terminal(words, columns=100, folder=tmp_path, output=printed)
    assert code == 0
    assert (tmp_path / "printed").read_text() == "archive.bin\n"
    assert (tmp_path / "archive.bin").read_bytes() == content
    for part in ("downloading", "checking", "/300.0 kB", "trying again in 1 s", "fetched: 0.3 MB"):
        assert part in shown


@pytest.mark.skipif(OPENSSL is None, reason="makes a certificate with openssl")
def test_certificates_are_checked(content: bytes, tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    request = f"{OPENSSL} req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    names = "-addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    subprocess.run(
        [*request.split(), *names.split(), "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(content) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = server.url.replace("http:", "https:")
        sha256 = hashlib.sha256(content).hexdigest()
        words = ("fetch", "--url", url, "--sha256", sha256, "--out", "new/")
        code, _, errors = dbtool(*words, cwd=tmp_path)
        assert code == 1
        assert "certificate verify failed" in errors
        assert errors.count("\n") == 1
        trusting = {"SSL_CERT_FILE": str(certificate)}
        assert dbtool(*words, cwd=tmp_path, environment=trusting)[0] == 0
    assert (tmp_path / "new" / "archive.bin").read_bytes() == content
