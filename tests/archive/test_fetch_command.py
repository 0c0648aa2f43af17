"""`dbtool fetch` as a person meets it; killed, doubled or out of disk it ends with the file."""

import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.dbtool.cli.conftest import Outcome
from tests.support.file_server import Answer, serving
from tests.support.kills import python_with_disk, wait_until
from tests.support.programs import run_python
from tests.support.terminal import run_on_terminal

from .conftest import Fetching

OPENSSL = shutil.which("openssl")
PATIENCE = 30.0


@pytest.fixture
def words(fetching: Fetching) -> Sequence[str]:
    return ("fetch", "--url", fetching.server.url, "--sha256", fetching.sha256)


def test_prints_the_path_alone(call, words, content, fetching, tmp_path, monkeypatch):
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


def test_a_file_that_is_there_needs_no_http_library(words, fetching, tmp_path):
    fetching.fetch()
    code = (
        "import sys\n"
        "from dbtool.cli.main import run\n"
        "try:\n    run(sys.argv[1:])\n"
        "except SystemExit:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    done = run_python("-c", code, *words, cwd=tmp_path)
    assert "was there already" in done.stderr
    assert not {"httpx", "rich", "duckdb", "ssl"} & set(done.stderr.split())


@pytest.mark.slow
def test_bars_are_for_terminals(words, fetching, content, tmp_path):
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
def test_certificates_are_checked(fetching, tmp_path, monkeypatch):
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
    with serving(fetching.content) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = server.url.replace("http:", "https:")
        assert "certificate verify failed" in fetching.failure(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        fetching.fetch(url)


def start(fetching: Fetching, python: Sequence[str] = (sys.executable,)) -> subprocess.Popen[str]:
    words = ["fetch", "--url", fetching.server.url, "--sha256", fetching.sha256]
    return subprocess.Popen(
        [*python, "-m", "dbtool", *words, "--out", str(fetching.dest)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, errors


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_killed_fetches_go_on(fetching, number):
    """What they leave is sound, and the next one ends whole."""
    fetching.server.default = Answer(seconds=2.0)
    process = start(fetching)
    wait_until(lambda: fetching.part.exists() and fetching.part.stat().st_size > 0, process)
    process.send_signal(number)
    code, errors = finished(process)
    assert code, "a kill has to strike: let the server be slower"
    if number == signal.SIGINT:
        assert (code, errors) == (130, "dbtool: interrupted\n")
    dest, content = fetching.dest, fetching.content
    assert not dest.exists()
    left = fetching.part.read_bytes()
    assert content.startswith(left)
    fetching.server.default = Answer()
    assert finished(start(fetching))[0] == 0
    assert dest.read_bytes() == content
    assert fetching.ranges[-1] == f"bytes={len(left)}-"
    assert [path.name for path in dest.parent.iterdir() if path.name[0] != "."] == [dest.name]


def test_one_process_fetches_at_a_time(fetching):
    fetching.server.default = Answer(cut=100_000, how="stalled")
    first = start(fetching)
    try:
        wait_until(lambda: fetching.part.exists() and fetching.part.stat().st_size > 0, first)
        code, errors = finished(start(fetching))
    finally:
        first.kill()
        finished(first)
    assert code == 1
    assert errors.startswith(
        f"dbtool: another process is downloading {fetching.dest}: wait for it or "
    )
    assert errors.count("\n") == 1
    assert len(fetching.server.sent) == 1


def test_full_disk_keeps_the_part(fetching):
    code, errors = finished(start(fetching, python=python_with_disk(100_000)))
    assert code == 1
    assert errors.startswith(f"dbtool: cannot write {fetching.part}: File too large; ")
    assert errors.count("\n") == 1
    assert fetching.part.read_bytes() == fetching.content[:100_000]
    assert finished(start(fetching))[0] == 0
    assert fetching.ranges[-1] == "bytes=100000-"
    assert fetching.dest.read_bytes() == fetching.content
