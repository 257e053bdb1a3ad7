"""The sentence about a public link."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from gradio import networking

from playground.ui.tunnel import open_tunnel

PAGE: Any = SimpleNamespace(
    local_url="http://127.0.0.1:7860/", server_name="127.0.0.1", server_port=7860, share_token="secret"
)


@pytest.fixture(autouse=True)
def no_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACE_ID", raising=False)


def test_where_the_tunnel_is_out_of_reach_there_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unreachable(*asked: Any, **more: Any) -> Any:
        raise httpx.ConnectError("Name or service\nnot known")

    monkeypatch.setattr(networking.httpx, "get", unreachable)
    monkeypatch.setattr(networking, "GRADIO_SHARE_SERVER_ADDRESS", None)
    assert open_tunnel(PAGE) == (
        "No public link could be made, since Gradio's tunnel is out of reach (Name or service not known); "
        "http://127.0.0.1:7860/ works."
    )
    assert capsys.readouterr() == ("", "")


def test_the_link_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def setup(local_host: str, local_port: int, share_token: str, address: Any, certificate: Any) -> str:
        asked.append((local_host, local_port, share_token, address, certificate))
        return "http://abc.gradio.live"

    monkeypatch.setattr(networking, "setup_tunnel", setup)
    assert open_tunnel(PAGE) == "Public link, for a week at most: https://abc.gradio.live"
    assert asked == [("127.0.0.1", 7860, "secret", None, None)]


def test_a_space_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_ID", "somebody/playground")
    monkeypatch.setattr(networking, "setup_tunnel", None)  # calling it would fail
    assert "a Space has its own" in open_tunnel(PAGE)
