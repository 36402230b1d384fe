"""Build of a suite's problems, with the models that are named or that the folder's ``models.json`` remembers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from caretbench.build.build_models import AnswersMissingError, BuildJob
from caretbench.build.builder import Builder
from caretbench.build.models.config import BuildModelsConfig
from caretbench.build.models.stored_models import StoredBuildModels
from caretbench.errors import CaretBenchError, DataError, UsageError, check_folder_is_writable
from caretbench.files import write_atomically
from caretbench.models import ClientOpener
from caretbench.progress import Progress
from caretbench.redaction import redact
from caretbench.runs.plans.roles import parse_model_option
from caretbench.suites.suite_types import BuildResult

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
    # Named models win: the file only saves typing them again when a build resumes.
    if options or not builder.remembers_models or not path.exists():
        return tuple(options)
    try:
        stored = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); name the models: -m ROLE=PROVIDER/MODEL") from None
    if not isinstance(stored, list) or not all(isinstance(option, str) and _is_hosted(option) for option in stored):
        raise DataError(f"{path}: no list of hosted models; name the models: -m ROLE=PROVIDER/MODEL")
    return tuple(stored)


def _is_hosted(option: str) -> bool:
    """Return whether an option names a model of a known hosted provider.

    A folder may come from somebody else: it must not start a program (``command/``), read a file of weights, or send
    keys to an address.
    """
    try:
        return parse_model_option(option).spec.partition("/")[0] in _HOSTED
    except UsageError:
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
    # An option with a key or an address is not written to a folder that may be passed on.
    plain = all(redact(option) == option and _is_hosted(option) for option in options)
    if builder.remembers_models and options and plain:
        write_atomically(output / MODELS_FILE, json.dumps(options, indent=2) + "\n")


def resolve_build_options(builder: Builder, option_values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the option values of a build, with defaults.

    Raises:
        UsageError: the suite has no such option, or a value is wrong.
        DataError: a file that an option names is malformed.
    """
    values = {option.name: option.default for option in builder.options}
    if unknown := sorted(option_values.keys() - values.keys()):
        raise UsageError(f"build {builder.suite.name} has no option {', '.join(unknown)}; options: {', '.join(values)}")
    values |= option_values
    builder.check_options(values)
    return values


def build(
    builder: Builder,
    sources: Sequence[str],
    output: Path,
    options: Mapping[str, Any],
    models_config: BuildModelsConfig,
    opener: ClientOpener,
    progress: Progress,
) -> BuildResult:
    """Build problems as :func:`caretbench.api.build` does.

    Raises:
        UsageError: an option is wrong, or a model is lacking or cannot be asked.
        DataError: a source cannot be used, or another process builds into the folder.
        AnswersMissingError: an answer is missing; the same call asks again.
    """
    check_folder_is_writable(output)
    if not builder.roles:
        return builder.build(BuildJob(sources, output, options, progress))
    # Before the build, so that a stop in the middle can be resumed without naming them.
    remember_models(builder, output, models_config)
    with StoredBuildModels(models_config, output, opener, progress) as models:
        try:
            return builder.build(BuildJob(sources, output, options, progress, models))
        except (AnswersMissingError, CaretBenchError):
            if not models.all_answered():  # a misspelled one, for instance: the next build has to name them
                (output / MODELS_FILE).unlink(missing_ok=True)
            raise
