"""Servers in the shapes of the products that people run themselves. They answer in that shape; none is the product."""

from __future__ import annotations

from typing import Any

from tests.support import model_server
from tests.support.model_server import Behaviour, Json, ModelServer, Recorded

OPENAI_PATHS = ("/v1/chat/completions", "/v1/completions")


def listing(*models: str, **fields: Any) -> Json:
    """The answer of ``/v1/models``."""
    return {"object": "list", "data": [{"id": name, "object": "model", **fields} for name in models]}


def _about(*models: str, **fields: Any) -> dict[str, Any]:
    return {"/v1/models": lambda _: listing(*models, **fields)}


def split_tokens(*whole: str) -> Any:
    """A tokenizer that reads ``whole`` as one token each, and any other text as one for each character."""
    return lambda body: {"tokens": [1] if body.get("content", body.get("prompt")) in whole else [*body["content"]]}


def vllm(model: str = "toy", **options: Any) -> ModelServer:
    """Chat and completions; a suffix is refused, the context is in the listing."""

    def script(request: Recorded) -> Behaviour | None:
        refused = (request.body or {}).get("suffix") is not None
        return model_server.error(400, "suffix is not currently supported") if refused else None

    about = _about(model, max_model_len=32768, owned_by="vllm")
    return ModelServer(script, paths=OPENAI_PATHS, about=about, **options)


def sglang(model: str = "toy", **options: Any) -> ModelServer:
    """Chat and completions that read a suffix."""
    return ModelServer(paths=OPENAI_PATHS, about=_about(model), reads_suffix=True, **options)


def lm_studio(model: str = "toy@q4_k_m", **options: Any) -> ModelServer:
    """Chat and completions that drop a suffix; addresses that are not there get an error with status 200."""

    def script(request: Recorded) -> Behaviour | None:
        known = request.path in OPENAI_PATHS
        return None if known else model_server.wrong_json({"error": f"Unexpected endpoint. (POST {request.path})"})

    return ModelServer(script, about=_about(model), caches=True, **options)


def llama_cpp(model: str = "toy.gguf", *, sentinels: tuple[str, ...] = (), **options: Any) -> ModelServer:
    """Chat, completions, ``/infill`` and a tokenizer."""
    about = _about(model) | {
        "/tokenize": split_tokens(*sentinels),
        "/props": lambda _: {"default_generation_settings": {"n_ctx": 4096}},
    }
    return ModelServer(paths=(*OPENAI_PATHS, "/infill"), about=about, **options)


def ollama(model: str = "toy:latest", *, inserts: bool = True, **options: Any) -> ModelServer:
    """Chat at ``/v1``, everything else at ``/api/generate``, which refuses a suffix where a template has no place."""

    def script(request: Recorded) -> Behaviour | None:
        refused = (request.body or {}).get("suffix") and not inserts
        return model_server.error(400, f"{model} does not support insert") if refused else None

    about = _about(model) | {"/api/version": lambda _: {"version": "0.5.7"}}
    return ModelServer(script, paths=(*OPENAI_PATHS, "/api/generate"), about=about, **options)


def tgi(model: str = "org/toy", **options: Any) -> ModelServer:
    """Chat and completions that refuse ``top_p`` at 1; the context is at ``/info``, tokens are a list."""

    def script(request: Recorded) -> Behaviour | None:
        refused = (request.body or {}).get("top_p") == 1
        return model_server.error(422, "Input validation error: `top_p` must be > 0.0 and < 1.0") if refused else None

    about = _about(model) | {
        "/info": lambda _: {"model_id": model, "max_total_tokens": 4096},
        "/tokenize": lambda body: [{"id": number, "text": mark} for number, mark in enumerate(body["inputs"])],
    }
    return ModelServer(script, paths=OPENAI_PATHS, about=about, **options)


def only(*paths: str, models: tuple[str, ...] = ("toy",), **options: Any) -> ModelServer:
    """A server with these addresses and no others."""
    return ModelServer(paths=paths, about=_about(*models) if models else {}, **options)
