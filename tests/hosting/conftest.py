"""A server behind nginx with the lines of README.md."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hosting.programs import ROOT, free_port, healthy, program, python

CONFIG = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/errors;
events {{}}
http {{
    access_log {folder}/accesses;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {folder}/certificate;
        ssl_certificate_key {folder}/key;
        {location}
    }}
}}
"""


@dataclass(frozen=True)
class Hosted:
    """A server and the nginx before it."""

    url: str  # what people type
    port: int  # of nginx
    own_port: int  # of the server itself


def _nginx() -> str:
    path = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if path is None or shutil.which("openssl") is None:
        if os.environ.get("PLAYGROUND_REQUIRE_BROWSER") == "1":
            pytest.fail("there is no nginx, or no openssl: install them")
        pytest.skip("there is no nginx, or no openssl")
    return path


def location() -> str:
    """What README.md tells people to write."""
    found = re.search(r"```nginx\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@contextlib.contextmanager
def behind_nginx(folder: Path, *flags: str, seconds: float = 0.02) -> Iterator[Hosted]:
    """The page over the fake engine as app.py serves it to strangers, at /play/ of an HTTPS server."""
    nginx, port, own_port = _nginx(), free_port(), free_port()
    certificate = ["-out", str(folder / "certificate"), "-keyout", str(folder / "key"), "-days", "2"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", *certificate],
        check=True,
        capture_output=True,
    )
    lines = location().replace(":7860", f":{own_port}")
    (folder / "config").write_text(CONFIG.format(folder=folder, port=port, location=lines))
    url, log = f"https://127.0.0.1:{port}/play/", folder / "log"
    asked = ["--hosted", "--port", str(own_port), "--public-url", url, "--store", str(folder / "store")]
    server = python("-m", "tests.hosting.serve", str(seconds), *asked, *flags)
    proxy = [nginx, "-p", str(folder), "-c", str(folder / "config")]
    with program(server, log=log) as process, program(proxy, log=folder / "told"):
        healthy(f"http://127.0.0.1:{own_port}/", process, log, lambda health: health["ready"])
        yield Hosted(url, port, own_port)
