"""What tests do on the Inside tab, and answers made by hand for a model that is not there."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable
from typing import Any

from tests.browser.conftest import Visit

SECTIONS = ("embeddings", "positions", "attention", "lens", "influence", "cache")
LAYERS, HEADS, KV_HEADS, HEAD_SIZE, WIDTH, WINDOW = 4, 4, 2, 8, 32, 6
Request = dict[str, Any]


class Inside:
    """The Inside tab of a visitor's page."""

    def __init__(self, visit: Visit) -> None:
        self.visit, self.page = visit, visit.page
        visit.tab("Inside")
        self.page.wait_for_selector("#inside-strip .token[aria-selected=true]")

    def ready(self, section: str, timeout: float = 30_000) -> Any:
        """Opens a section; its panel once everything that was asked for is drawn."""
        self.page.click(f"#inside-sections [data-section={section}]")
        return self.wait(section, timeout)

    def wait(self, section: str, timeout: float = 30_000) -> Any:
        panel = f".inside-panel[data-section={section}]:not([hidden])"
        self.page.wait_for_selector(f"{panel}[data-ready=true]", timeout=timeout)
        return self.page.locator(panel)

    def chip(self, position: int) -> Any:
        return self.page.locator("#inside-strip .token").nth(position)

    def count(self, more: str = "") -> int:
        return self.page.locator(f"#inside-strip .token{more}").count()

    def ids(self) -> list[int]:
        chips = self.page.locator("#inside-strip .token")
        return [int(each) for each in chips.evaluate_all("(all) => all.map((chip) => chip.dataset.id)")]

    def position(self) -> int:
        """Of the selected token."""
        return self.page.evaluate(
            "[...document.querySelectorAll('#inside-strip .token')]"
            ".findIndex((chip) => chip.getAttribute('aria-selected') === 'true')"
        )

    def select(self, position: int) -> None:
        self.chip(position).click()
        self.page.wait_for_function(
            "(at) => document.querySelectorAll('#inside-strip .token')[at]"
            ".getAttribute('aria-selected') === 'true'",
            arg=position,
        )


class ByHand:
    """Answers the tab's questions in the server's place: at once, or while `holding` when released."""

    def __init__(self, page: Any, answer: Callable[[Request], Any]) -> None:
        self.asked: list[Request] = []
        self.holding = False
        self._waiting: list[tuple[Any, Request]] = []
        self._answer = answer
        page.route(re.compile("/component_server/"), self._handle)

    def whats(self) -> list[str]:
        return [request["what"] for request in self.asked]

    def release(self) -> None:
        self.holding = False
        waiting, self._waiting = self._waiting, []
        for route, request in waiting:
            self._tell(route, request)

    def _handle(self, route: Any) -> None:
        sent = route.request.post_data_json
        if sent.get("fn_name") != "inside":
            route.fallback()
            return
        self.asked.append(sent["data"])
        if self.holding:
            self._waiting.append((route, sent["data"]))
        else:
            self._tell(route, sent["data"])

    def _tell(self, route: Any, request: Request) -> None:
        body = json.dumps(json.dumps(self._answer(request)))
        route.fulfill(status=200, content_type="application/json", body=body)


def softmax(scores: list[float]) -> list[float]:
    exps = [math.exp(score - max(scores)) for score in scores]
    return [each / sum(exps) for each in exps]


def by_hand(request: Request) -> Any:
    """An answer of the right form, with numbers that fit together, for any question of the tab."""
    draw = random.Random(json.dumps(request.get("position")))
    rows = [draw.gauss(0, 1) for _ in range(WIDTH)]
    look: Any
    match request["what"]:
        case "shape":
            look = {
                "family": "llama", "layers": LAYERS, "heads": HEADS, "kv_heads": KV_HEADS,
                "head_size": HEAD_SIZE, "width": WIDTH, "vocabulary": 49152, "parameters": 1_234_567,
                "tied": False, "positions": "rotary", "rotary_theta": 1e4,
                "windows": [WINDOW, WINDOW, WINDOW, None],
            }  # fmt: skip
        case "embedding":
            near = [
                {"token_id": 100 + place, "text": f"␣near{place}", "cosine": 0.9 - place / 20, "norm": 3.0}
                for place in range(12)
            ]
            look = {"token_id": request["id"], "text": f"␣id{request['id']}", "side": request["side"],
                    "vector": rows, "norm": 3.5, "mean_norm": 3.1, "neighbours": near}  # fmt: skip
        case "map":
            points = [
                {"word": word, "ids": [1, 2][: 1 + (place == 0)], "x": draw.random(), "y": draw.random()}
                for place, word in enumerate(request["words"])
            ]
            cosines = [[float(a == b) for a in points] for b in points]
            look = {"side": request["side"], "points": points, "explained": [0.3, 0.2], "cosines": cosines}
        case "positions":
            pairs = [
                {"pair": i, "frequency": 10000 ** (-2 * i / HEAD_SIZE),
                 "angles": [request[end] * 10000 ** (-2 * i / HEAD_SIZE) for end in ("first", "second")]}
                for i in range(HEAD_SIZE // 2)
            ]  # fmt: skip
            look = {"kind": "rotary", "token_id": request["ids"][request["first"]], "text": "␣here",
                    "layer": request["layer"], "head": request["head"], "pairs": pairs, "before": rows[:8],
                    "positions": [request["first"], request["second"]], "queries": [rows[:8], rows[8:16]],
                    "keys": [rows[:8], rows[8:16]], "table": [], "scores": rows[:8]}  # fmt: skip
        case "order":
            look = {"texts": [request["before"], request["after"]], "ids": [[1], [1]],
                    "tokens": [["␣Paris", 0.5, 0.1], ["␣the", 0.1, 0.3]], "total_variation": 0.4,
                    "divergence": 0.7}  # fmt: skip
        case "grid":
            thumb = [0.1] * 16
            heads = [[0.25] * HEADS for _ in range(LAYERS)]
            look = {"length": len(request["ids"]), "size": 4, "entropy": heads, "first": heads,
                    "thumbs": [[thumb] * HEADS] * LAYERS, "itself": heads, "previous": heads}  # fmt: skip
        case "map_of":
            length = len(request["ids"])
            weights = [[1 / (row + 1) if column <= row else 0 for column in range(length)]
                       for row in range(length)]  # fmt: skip
            look = {**{name: request[name] for name in ("layer", "head")}, "window": None, "weights": weights}
        case "row":
            at, window = request["position"], WINDOW if request["layer"] < 3 else None
            scores = [draw.gauss(0, 1) for _ in range(at + 1)]
            masked = [window is not None and at - place >= window for place in range(at + 1)]
            open_ones = iter(softmax([s for s, hidden in zip(scores, masked, strict=True) if not hidden]))
            look = {"position": at, "layer": request["layer"], "head": request["head"], "window": window,
                    "kv_head": request["head"] // 2, "scale": HEAD_SIZE**-0.5, "softcap": None,
                    "query": rows[:8], "products": [s * HEAD_SIZE**0.5 for s in scores], "scores": scores,
                    "masked": masked, "weights": [0 if hidden else next(open_ones) for hidden in masked],
                    "sink": 0.0, "norms": [1.0] * (at + 1)}  # fmt: skip
        case "lens":
            chosen = request["ids"][request["position"] + 1]
            look = {"position": request["position"], "error": 2e-6, "rows": [
                {"layer": layer, "entropy": 4 - layer, "divergence": 4.0 - layer,
                 "tokens": [{"token_id": 5, "text": f"␣best{layer}", "prob": 0.5, "rank": 1}],
                 "chosen": {"token_id": chosen, "text": "␣it", "prob": 0.1, "rank": 9 - 2 * layer}}
                for layer in range(LAYERS + 1)
            ]}  # fmt: skip
        case "influence":
            rollout = request["method"] == "rollout"
            at = request["position"]
            scores = softmax([draw.random() for _ in range(at)]) if rollout else [
                draw.gauss(0, 1) for _ in range(at)
            ]  # fmt: skip
            steps = {"rollout": 0, "gradient": 1, "integrated": 32}[request["method"]]
            look = {"position": at, "token_id": request["ids"][at], "scores": scores, "steps": steps,
                    "method": {"gradient": "input x gradient", "integrated": "integrated gradients"}.get(
                        request["method"], "rollout"),
                    "total": None if rollout else sum(scores) + 0.125, "gap": None if rollout else 0.125,
                    "dtype": "float32"}  # fmt: skip
        case "cache":
            tokens = sum(held for _, held in request["parts"])
            each = 2 * LAYERS * KV_HEADS * HEAD_SIZE * 4
            look = {"layers": LAYERS, "kv_heads": KV_HEADS, "head_size": HEAD_SIZE, "dtype": "float32",
                    "bytes_per_token": each, "held": tokens * each, "reserved": None, "tokens": tokens,
                    "limit": 8192}  # fmt: skip
    return {"look": look, "bound": 512}
