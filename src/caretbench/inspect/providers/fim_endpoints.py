"""``fim/SHAPE/MODEL``: endpoints that take the text before and after the caret, as an Inspect provider."""

from __future__ import annotations

import os
from typing import Any

from inspect_ai.model import GenerateConfig

from caretbench.errors import MachineError
from caretbench.inspect.providers.endpoint_api import EndpointAPI
from caretbench.inspect.providers.endpoint_shapes import endpoint_shape


class FimEndpointAPI(EndpointAPI):
    """Provider for completion endpoints of the shapes of ``fim_shapes.toml``.

    Args:
        model_name: ``SHAPE/MODEL``.
        base_url: The server's address; without it the shape's environment variables, then the vendor's address.
        api_key: The key; without it the shape's environment variables.
        config: As for every provider.
        stream: Ask for streams, which tell the time to the first token.
        context_tokens: The context to ask for, where the server must be told (Ollama cuts prompts silently at its own).
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (as in the base class; never changed)
        stream: bool = True,
        context_tokens: int | None = None,
        **ignored: Any,
    ) -> None:
        name, _, model = model_name.partition("/")
        shape = endpoint_shape(name)
        if not model:
            raise ValueError(f"fim/{name} needs the name of a model: fim/{name}/MODEL")
        if ignored:
            raise ValueError(f"fim/{name} knows no option {', '.join(sorted(ignored))}")
        variables = shape.base_url_variables
        given = base_url or next((os.environ[name] for name in variables if os.environ.get(name)), None)
        super().__init__(
            model, shape, shape.address(given or shape.base_url), api_key=api_key, config=config, stream=stream,
            context_tokens=context_tokens,
        )  # fmt: skip
        if shape.needs_key and given is None and not self.current_key():
            raise MachineError(
                f"{shape.title} needs a key: set {' or '.join(shape.key_variables)} "
                f"(or {variables[0]} to an address that needs none)"
            )
