"""`--share` on a machine that cannot reach Gradio's tunnel."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.hosting.programs import free_port, get, healthy, program, python

pytestmark = pytest.mark.slow


def test_one_sentence_and_the_local_page_works(tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "log"
    url = f"http://127.0.0.1:{port}/"
    nowhere = "http://127.0.0.1:9"  # so that nothing gets out, whatever this machine can reach
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GRADIO_")}
    environment = {**kept, "HTTPS_PROXY": nowhere, "https_proxy": nowhere, "HOME": str(tmp_path)}
    command = python("-m", "tests.hosting.serve", "0", "--share", "--port", str(port))
    with program(command, log=log, environment=environment) as process:
        healthy(url, process, log, lambda health: "link" in log.read_text())
        first, second = log.read_text().splitlines()
        assert first == f"Token Playground: {url}"
        assert second.startswith("No public link could be made, since Gradio's tunnel is out of reach (")
        assert second.endswith(f"; {url} works.")
        assert b"Token Playground" in get(url)
