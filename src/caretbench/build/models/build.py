"""Build of a suite's problems, with models if the suite uses some."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from caretbench.build.build_models import AnswersMissingError
from caretbench.build.builder import Builder
from caretbench.build.models.config import BuildModelsConfig
from caretbench.build.models.remembered_models import forget_models, remember_models
from caretbench.build.models.stored_models import StoredBuildModels
from caretbench.errors import check_folder_is_writable
from caretbench.models import ClientOpener
from caretbench.progress import Progress
from caretbench.suites.suite_types import BuildResult


def resolve_build_options(
    builder: Builder, sources: Sequence[str], option_values: Mapping[str, Any], note: Callable[[str], None]
) -> tuple[list[str], dict[str, Any]]:
    """Return the sources and the option values of a build; deprecated options are converted, with a note.

    Raises:
        ValueError: the suite has no such option, or a value is wrong.
        DataError: a file that an option names is malformed.
    """
    known = {option.name: option for option in builder.options}
    if unknown := sorted(option_values.keys() - known.keys()):
        raise ValueError(f"build {builder.suite.name} has no option {', '.join(unknown)}; options: {', '.join(known)}")
    stated = {name: option_values.get(name, option.default) for name, option in known.items()}
    values = {name: stated[name] for name, option in known.items() if not option.replacement}
    values["sources"] = list(sources)
    for option in known.values():
        if option.replacement and (value := stated[option.name]) not in (None, []):
            old = f"--{option.name.replace('_', '-')}"
            note(f"{old} is replaced by {option.replacement}; it works for one release more")
            before = values[option.field]
            values[option.field] = [*before, *value] if isinstance(before, list) else value
    stated_sources = values.pop("sources")
    builder.check_options(values)
    return stated_sources, values


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
        ValueError: an option is wrong, or a model is lacking or cannot be asked.
        DataError: a source cannot be used, or another process builds into the folder.
        AnswersMissingError: an answer is missing; the same call asks again.
    """
    check_folder_is_writable(output)
    if not builder.roles:
        return builder.build(sources, output, options, progress)
    remember_models(builder, output, models_config)
    with StoredBuildModels(models_config, output, opener, progress) as models:
        try:
            return builder.build(sources, output, options, progress, models=models)
        except (AnswersMissingError, ValueError):
            if not models.all_answered():  # a misspelled one, for instance
                forget_models(output)
            raise
