"""The files of the project in a folder of their own, started as a Space starts them; nothing is fetched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from gradio_client import Client

from tests.hosting.programs import ROOT, free_port, get, healthy, program, python
from tests.tiny_gguf import write_tiny_gguf

pytestmark = pytest.mark.slow


def front_matter(text: str) -> dict[str, str]:
    """What a Space reads at the head of README.md: here, one name and value a line."""
    opening, head, _ = text.split("---\n", 2)
    assert opening == ""
    return dict(line.split(": ", 1) for line in head.splitlines())


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git would push to a Space, were all committed, and no more."""
    folder = tmp_path_factory.mktemp("space")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if not (ROOT / name).is_file():
            continue  # being moved at this moment
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def space(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running Space, with a tiny model."""
    others = tmp_path_factory.mktemp("beside")
    write_tiny_gguf(others / "tiny.gguf")
    port, home, log = free_port(), others / "home", others / "log"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),  # of somebody who never ran it
        "SYSTEM": "spaces",
        "SPACE_ID": "somebody/token-playground",
        "SPACE_HOST": "somebody-token-playground.hf.space",
        "GRADIO_SERVER_NAME": "0.0.0.0",
        "GRADIO_SERVER_PORT": str(port),
        "HF_HUB_OFFLINE": "1",
        "PLAYGROUND_MODEL": str(others / "tiny.gguf"),
    }
    home.mkdir()
    url = f"http://127.0.0.1:{port}/"
    with program(python("app.py"), log=log, cwd=copy, environment=environment) as process:
        healthy(url, process, log, lambda health: health["ready"])
        yield url


def test_the_head_of_the_readme_is_what_a_space_wants(copy: Path) -> None:
    head = front_matter((copy / "README.md").read_text())
    assert head["sdk"] == "gradio"
    assert (copy / head["app_file"]).is_file()
    assert tuple(map(int, head["python_version"].strip('"').split("."))) >= (3, 11)
    assert {"title", "emoji", "colorFrom", "colorTo", "short_description"} <= set(head)
    assert len(head["short_description"]) <= 60  # more is refused
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert {head["colorFrom"], head["colorTo"]} <= colours


def test_a_space_installs_a_gradio_that_the_requirements_allow(copy: Path) -> None:
    from packaging.requirements import Requirement

    version = front_matter((copy / "README.md").read_text())["sdk_version"]
    lines = [line.split("#")[0].strip() for line in (copy / "requirements.txt").read_text().splitlines()]
    wanted = {each.name: each for each in map(Requirement, filter(None, lines))}
    assert version in wanted["gradio"].specifier


def test_page_and_health_answer(space: str) -> None:
    health = json.loads(get(space + "health"))
    assert health["model"] == "tiny.gguf"
    assert health["error"] is None
    assert b"Token Playground" in get(space)


def test_a_run_comes_through_the_api(space: str) -> None:
    client = Client(space, verbose=False, download_files=False)
    records = client.submit('"Hi"', '{"max_tokens": 3, "seed": 1}', api_name="/generate")
    kinds = [record["event"] for record in records]
    assert kinds == ["prompt", "token", "token", "token", "end"]


def test_strangers_may_choose_the_offered_models_only(space: str) -> None:
    client = Client(space, verbose=False, download_files=False)
    with pytest.raises(Exception, match="max_tokens must be at most"):
        client.predict('"Hi"', '{"max_tokens": 1000000}', api_name="/generate")
