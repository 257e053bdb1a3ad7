"""The HTTP API, called as strangers call it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from playground.settings import Settings
from playground.trace import Finished, Prompt, TokenStep, from_event_record
from playground.ui.api import health_route, read_messages, read_params
from playground.ui.host import Host
from playground.ui.page import build, launch_options
from playground.ui.run import Server
from playground.ui.seats import Seats
from tests.ui.fake_engine import FakeEngine

MESSAGES = json.dumps([{"role": "user", "content": "What is the capital of France?"}])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    engine = FakeEngine()
    server = Server(Host(lambda progress: engine), Seats(2), Settings(max_new_tokens=100))
    page = build(server)
    routes = {"routes": [health_route(server)]}
    _, local, _ = page.launch(
        server_name="127.0.0.1", server_port=None, prevent_thread_lock=True, quiet=True, app_kwargs=routes,
        **launch_options(),
    )  # fmt: skip
    yield local
    page.close()


@pytest.fixture(scope="module")
def client(url: str) -> Client:
    return Client(url, verbose=False)


def test_generate_streams_the_records_of_a_run(client: Client) -> None:
    job = client.submit(MESSAGES, json.dumps({"seed": 3, "max_tokens": 6}), api_name="/generate")
    records = list(job)
    events = [from_event_record(record) for record in records]
    assert isinstance(events[0], Prompt)
    assert all(isinstance(event, TokenStep) for event in events[1:-1])
    assert isinstance(events[-1], Finished)
    assert [record["event"] for record in records] == ["prompt", *["token"] * 6, "end"]
    assert [event.index for event in events[1:-1]] == list(range(6))  # none is lost, however fast


def test_generate_reads_raw_text_too(client: Client) -> None:
    first = next(iter(client.submit('"The capital"', '{"max_tokens": 1}', api_name="/generate")))
    assert (first["text"], first["template"]) == ("The capital", None)


def test_tokenize_and_render(client: Client) -> None:
    tokens = client.predict("The capital<|im_end|>", api_name="/tokenize")
    assert bytes.fromhex("".join(token["bytes"] for token in tokens)).decode() == "The capital<|im_end|>"
    assert [token["special"] for token in tokens] == [False, False, True]
    prompt = from_event_record(client.predict(MESSAGES, api_name="/render"))
    assert isinstance(prompt, Prompt)
    assert "What is the capital of France?" in prompt.text


def test_redistribute_gives_a_step_under_other_settings(client: Client) -> None:
    greedy = from_event_record(
        client.predict([5, 6], [7, 8, 9], 2, '{"temperature": 0, "seed": 1}', api_name="/redistribute")
    )
    assert isinstance(greedy, TokenStep)
    assert (greedy.index, greedy.draw.method, greedy.final_prob) == (2, "greedy", 1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("not json", "{}", "/generate"), "messages_json is not valid JSON"),
        (("[" * 100_000, "{}", "/generate"), "messages_json"),
        (("[]", "{}", "/generate"), "a list of 1 to 1000 messages"),
        (('[{"role": "king", "content": "x"}]', "{}", "/generate"), "the role of message 0"),
        (('[{"role": "user", "content": 5}]', "{}", "/generate"), "must be a string"),
        (('[{"role": "user"}]', "{}", "/generate"), "fields role and content"),
        ((MESSAGES, '{"temperature": -1}', "/generate"), "temperature must be in"),
        ((MESSAGES, '{"temprature": 1}', "/generate"), "there is no setting 'temprature'"),
        ((MESSAGES, '{"max_tokens": 101}', "/generate"), "at most 100 on this server"),
        ((MESSAGES, "[1]", "/generate"), "settings must be an object"),
        (([5], [6], 1, "{}", "/redistribute"), "step must be"),
        (([5], [10**9], 0, "{}", "/redistribute"), "answer_ids must hold ids"),
        (([], [6], 0, "{}", "/redistribute"), "prompt_ids must be a list"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(client: Client, call: tuple[Any, ...], words: str) -> None:
    *values, name = call
    with pytest.raises(AppError, match=words.replace("(", r"\(")) as refused:
        client.predict(*values, api_name=name)
    assert "Traceback" not in str(refused.value)


def test_the_names_are_stable_and_nothing_else_is_offered(client: Client) -> None:
    offered = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    assert set(offered) == {"/generate", "/tokenize", "/render", "/redistribute", "/trace"}


def test_health(url: str) -> None:
    with urllib.request.urlopen(url + "health") as answer:
        told = json.load(answer)
        assert json.loads(told.pop("header"))["name"] == "Fake-12M"
        assert told == {
            "ready": True, "model": "Fake-12M", "error": None, "running": 0, "waiting": 0, "free": 2,
        }  # fmt: skip


def test_reading_messages_and_settings() -> None:
    assert read_messages('"raw"') == "raw"
    assert read_messages(MESSAGES) == json.loads(MESSAGES)
    assert read_params("").temperature == 1.0
