"""Models of a folder's earlier build, for a build that names none: ``models.json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from caretbench.build.builder import Builder
from caretbench.build.models.config import BuildModelsConfig
from caretbench.errors import DataError
from caretbench.files import write_atomically
from caretbench.redaction import redact
from caretbench.runs.plans.roles import parse_model_option

MODELS_FILE: Final = "models.json"
_HOSTED: Final = frozenset(
    {"anthropic", "bedrock", "azureai", "cloudflare", "deepseek", "fireworks", "google", "grok", "groq", "mistral",
     "mockllm", "openai", "openrouter", "perplexity", "sambanova", "together"}
)  # fmt: skip
"""Providers that a folder may name."""


def with_remembered_models(builder: Builder, output: Path, options: Sequence[str]) -> tuple[str, ...]:
    """Return the ``-m`` options of a build; without any, those of the folder's last build, if the suite keeps them.

    Raises:
        DataError: the file is malformed.
    """
    path = output / MODELS_FILE
    if options or not builder.remembers_models or not path.exists():
        return tuple(options)
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); name the models: -m ROLE=PROVIDER/MODEL") from None
    if not isinstance(found, list) or not all(isinstance(one, str) and _is_hosted(one) for one in found):
        raise DataError(f"{path}: no list of hosted models; name the models: -m ROLE=PROVIDER/MODEL")
    return tuple(found)


def _is_hosted(option: str) -> bool:
    """Return whether an option names a model of a known hosted provider.

    A folder may come from somebody else: it must not start a program (``command/``), read a file of weights, or send
    keys to an address.
    """
    try:
        return parse_model_option(option).spec.partition("/")[0] in _HOSTED
    except ValueError:
        return False


def remember_models(builder: Builder, output: Path, models_config: BuildModelsConfig) -> None:
    """Write the models of a build to its folder, if the suite keeps them and all are of hosted providers."""
    options = [
        f"{role}={model.spec}"
        if model.name in {model.spec, redact(model.spec)}
        else f"{role}={model.name}={model.spec}"
        for role, models in models_config.models.items()
        for model in models
    ]
    plain = all(redact(option) == option and _is_hosted(option) for option in options)
    if builder.remembers_models and options and plain:
        write_atomically(output / MODELS_FILE, json.dumps(options, indent=2) + "\n")


def forget_models(output: Path) -> None:
    """Remove the models of a folder: the next build has to name them."""
    (output / MODELS_FILE).unlink(missing_ok=True)
