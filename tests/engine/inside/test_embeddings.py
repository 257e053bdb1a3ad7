"""Rows of the tables, their neighbours and the map of words, against the weights themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from tests import fakes
from tests.engines import engine_of

MODELS = [fakes.tiny_llama, fakes.tiny_gpt2, fakes.tiny_gemma3, fakes.tiny_mamba]


def tables(model: Any) -> dict[str, np.ndarray]:
    state = model.state_dict()
    inputs = next(
        state[name]
        for name in state
        if name.endswith(("embed_tokens.weight", "wte.weight", "embeddings.weight"))
    )
    return {"input": inputs.double().numpy(), "output": state.get("lm_head.weight", inputs).double().numpy()}


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("side", ["input", "output"])
def test_a_row_and_its_neighbours(make: Callable[[], Any], side: str) -> None:
    model = make()
    table = tables(model)[side][: fakes.VOCABULARY]
    with engine_of(model) as engine:
        look = engine.inside.embedding(97, side=side, n=7)
    lengths = np.sqrt((table**2).sum(1))
    assert np.allclose(look.vector, table[97])
    assert look.norm == pytest.approx(lengths[97])
    assert look.mean_norm == pytest.approx(lengths.mean())
    cosines = table @ table[97] / lengths / lengths[97]
    order = [place for place in np.argsort(-cosines, kind="stable") if place != 97][:7]
    assert [near.token_id for near in look.neighbours] == order
    assert [near.cosine for near in look.neighbours] == pytest.approx(cosines[order].tolist(), abs=1e-6)
    assert [near.norm for near in look.neighbours] == pytest.approx(lengths[order].tolist())
    assert look.text == "a"


def test_equal_rows_come_by_lowest_id_and_an_empty_one_never() -> None:
    model = fakes.tiny_llama()
    with torch.no_grad():
        weight = model.get_input_embeddings().weight
        weight[50] = 2 * weight[97]
        weight[20] = 4 * weight[97]  # exactly the same direction
        weight[10] = 0
    with engine_of(model) as engine:
        look = engine.inside.embedding(97, n=300)
    assert [near.token_id for near in look.neighbours[:2]] == [20, 50]
    assert look.neighbours[0].cosine == pytest.approx(1)
    assert len(look.neighbours) == fakes.VOCABULARY - 2
    assert 10 not in {near.token_id for near in look.neighbours}


@pytest.mark.parametrize("side", ["input", "output"])
def test_the_map_is_the_principal_components(side: str) -> None:
    model = fakes.tiny_llama()
    table = tables(model)[side]
    words = ["a", "b", "cd", "e"]
    with engine_of(model) as engine:
        found = engine.inside.embedding_map(words, side=side)
    vectors = np.stack([table[[ord(sign) for sign in word]].mean(0) for word in words])
    assert [point.ids for point in found.points] == [tuple(map(ord, word)) for word in words]
    # Independently: eigenvectors of the covariance, largest first.
    centred = vectors - vectors.mean(0)
    values, axes = np.linalg.eigh(centred.T @ centred)
    expected = centred @ axes[:, ::-1][:, :2]
    got = np.array([(point.x, point.y) for point in found.points])
    assert np.allclose(np.abs(got), np.abs(expected), atol=1e-9)
    assert (got[np.abs(got).argmax(0), [0, 1]] > 0).all()  # the convention
    assert found.explained == pytest.approx(tuple(values[::-1][:2] / values.sum()))
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.allclose(found.cosines, vectors @ vectors.T / lengths / lengths[:, None])


def test_a_map_of_equal_words_has_no_spread() -> None:
    with engine_of(fakes.tiny_llama()) as engine:
        found = engine.inside.embedding_map(["a", "a"])
    assert [(point.x, point.y) for point in found.points] == [(0, 0), (0, 0)]
    assert found.explained == (0, 0)


def test_what_is_asked_wrongly_is_refused_in_a_sentence() -> None:
    with engine_of(fakes.tiny_llama()) as engine:
        inside = engine.inside
        for ask in (
            lambda: inside.embedding(fakes.VOCABULARY), lambda: inside.embedding(-1),
            lambda: inside.embedding(1, side="both"), lambda: inside.embedding(1, n=0),
            lambda: inside.embedding_map(["a"]), lambda: inside.embedding_map(["a"] * 61),
            lambda: inside.embedding_map(["a", "b"], side=""),
        ):  # fmt: skip
            with pytest.raises(ValueError, match=r"must be|has rows|takes"):
                ask()


@pytest.mark.model
def test_king_and_queen_on_the_bundled_model(bundled: Loaded) -> None:
    table = bundled.model.state_dict()["model.embed_tokens.weight"].double().numpy()
    ids = {
        word: bundled.tokenizer(f" {word}", add_special_tokens=False).input_ids
        for word in ("king", "queen", "apple")
    }
    assert {len(each) for each in ids.values()} == {1}
    engine = LocalEngine(bundled)
    try:
        found = engine.inside.embedding_map(["king", "queen", "apple"])
        look = engine.inside.embedding(ids["king"][0])
    finally:
        engine.close()
    rows = table[[each[0] for each in ids.values()]]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.allclose(found.cosines, rows @ rows.T, atol=1e-6)
    every = table @ table[ids["king"][0]] / np.linalg.norm(table, axis=1)
    nearest = int(np.argsort(-every, kind="stable")[1])
    assert look.neighbours[0].token_id == nearest
