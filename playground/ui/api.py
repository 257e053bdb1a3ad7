"""The HTTP API with stable names, and the health endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import gradio as gr
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from playground.codec import to_plain
from playground.store import Store
from playground.trace import SamplingParams, event_record
from playground.ui.asked import read_ids
from playground.ui.form import MOST_CHARACTERS
from playground.ui.header import header_json
from playground.ui.host import NoEngine, Words
from playground.ui.kept import apart
from playground.ui.run import Server, sentence
from playground.ui.stream import events_of

ROLES = ("system", "user", "assistant", "tool", "developer")
MOST_MESSAGES = 1000


def add_api(server: Server) -> None:
    """Register the endpoints on the page being built."""

    async def generate_events(
        request: gr.Request, messages_json: str, params_json: str = "{}"
    ) -> AsyncGenerator[dict[str, Any]]:
        """Stream a run: one record {"event": "prompt" | "token" | "end", …} at a time.

        `messages_json`: a list of {"role", "content"}, or a string of raw text. `params_json`: settings.
        """
        by = server.visitor(None, request)
        with _told(), server.visitors.run(by.address):
            said, params = read_messages(messages_json), server.check(read_params(params_json))
            engine = await server.host.engine()
            prompt = await server.prompt(engine, said)
            async with server.seats.seat():
                stream = engine.stream(prompt, params, owner=by.owner)
                async with aclosing(events_of(stream)) as events:
                    async for event in events:
                        yield event_record(event)

    async def tokenize(request: gr.Request, text: str) -> list[dict[str, Any]]:
        """The tokens of a text: id, bytes in hex, visible form, whether it is a control token."""
        with _told(), server.visitors.call(server.visitor(None, request).address):
            engine = await server.host.engine()
            return await asyncio.to_thread(_tokens, engine.vocabulary, _bounded(text), server)

    async def render(request: gr.Request, messages_json: str) -> dict[str, Any]:
        """Messages to the prompt that the model reads: text, segments, tokens."""
        with _told(), server.visitors.call(server.visitor(None, request).address):
            said = read_messages(messages_json)
            return event_record(await server.prompt(await server.host.engine(), said))

    async def redistribute(
        request: gr.Request,
        prompt_ids: list[int],
        answer_ids: list[int],
        step: int,
        params_json: str = "{}",
    ) -> dict[str, Any]:
        """One step of an answer under other settings, as the token record that the run would have had."""
        by = server.visitor(None, request)
        with _told(), server.visitors.call(by.address):
            params, most = read_params(params_json), server.settings.max_prompt_tokens
            engine = await server.host.engine()
            size = engine.vocabulary.size
            context = read_ids(prompt_ids, "prompt_ids", 1, most, size)
            answer = read_ids(answer_ids, "answer_ids", 1, most, size)
            if type(step) is not int or not 0 <= step < len(answer):
                raise ValueError(f"step must be a whole number from 0 to {len(answer) - 1}, got {step!r:.80}")
            async with server.seat(by):  # it may take a pass through the model
                moved = await asyncio.to_thread(
                    engine.redistribute_ids, context, answer, step, params, owner=by.owner
                )
            return event_record(moved)

    async def trace(request: gr.Request, id: str) -> dict[str, Any]:
        """What was saved under the id of a link: a trace, or a comparison, which has `traces`."""
        with _told(), server.visitors.call(server.visitor(None, request).address):
            if server.store is None:
                raise ValueError("This server keeps no runs.")
            return await apart(_saved, server.store, id)

    free: dict[str, Any] = {"concurrency_limit": None}
    gr.api(generate_events, api_name="generate", **free)
    gr.api(tokenize, api_name="tokenize", **free)
    gr.api(render, api_name="render", **free)
    gr.api(redistribute, api_name="redistribute", **free)
    gr.api(trace, api_name="trace", **free)


def health_route(server: Server) -> Route:
    """GET /health: whether the model is there, how busy it is, and what the page's header shows."""

    async def health(request: Request) -> JSONResponse:
        engine, seats = server.host.ready, server.seats
        return JSONResponse(
            {
                "ready": engine is not None,
                "model": engine.info.name if engine else None,
                "error": server.host.failure,
                "running": seats.taken,
                "waiting": seats.waiting,
                "free": seats.free,
                "header": header_json(server.host),
            }
        )

    return Route("/health", health)


@contextmanager
def _told() -> Iterator[None]:
    """What a caller did wrong, and what a server cannot do, is told in a sentence."""
    try:
        yield
    except (ValueError, NoEngine) as error:
        raise gr.Error(sentence(error), print_exception=False) from None


def _tokens(words: Words, text: str, server: Server) -> list[dict[str, Any]]:
    ids, most = words.encode(text), server.settings.max_prompt_tokens
    if len(ids) > most:
        raise ValueError(f"This text has {len(ids):,} tokens and this server reads at most {most:,}.")
    return [
        {
            "id": token_id,
            "bytes": words.bytes_of(token_id).hex(),
            "text": words.visible(token_id),
            "special": words.is_special(token_id),
        }
        for token_id in ids
    ]


def _saved(store: Store, id: str) -> Any:
    return to_plain(store.load(id))


def read_messages(text: str) -> list[dict[str, str]] | str:
    """Messages, or raw text, from a stranger's JSON. Raises ValueError in a sentence."""
    said = _json(text, "messages_json")
    if isinstance(said, str):
        return said
    if not isinstance(said, list) or not 1 <= len(said) <= MOST_MESSAGES:
        raise ValueError(f"messages_json must be a string, or a list of 1 to {MOST_MESSAGES} messages")
    for index, message in enumerate(said):
        if not isinstance(message, dict) or set(message) != {"role", "content"}:
            raise ValueError(f"message {index} must be an object with the fields role and content")
        if message["role"] not in ROLES:
            raise ValueError(
                f"the role of message {index} must be one of {', '.join(ROLES)}, got {message['role']!r:.80}"
            )
        if not isinstance(message["content"], str):
            raise ValueError(f"the content of message {index} must be a string")
    return said


def read_params(text: str) -> SamplingParams:
    """Settings from a stranger's JSON. Raises ValueError in a sentence."""
    return SamplingParams.from_dict(_json(text or "{}", "params_json"))


def _bounded(text: Any) -> str:
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise ValueError(f"a text must be a string of at most {MOST_CHARACTERS:,} characters")
    return text


def _json(text: Any, name: str) -> Any:
    try:
        return json.loads(_bounded(text))
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} is not valid JSON: {error}") from None
