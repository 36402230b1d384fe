"""``caretbench run``: models asked, judged where wanted, scored and reported, in one command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli import scoring as shared
from caretbench.cli.common import AsJson, Engine, Limit, Select, Workers, note

if TYPE_CHECKING:
    from caretbench.cli.run_plan import NumberOrNone, Plan

_OF_A_FILE = (
    "model", "samples", "data", "chosen", "limit", "temperature", "top_p", "max_tokens", "seed", "preset", "prompt",
    "context", "prompt_tokens", "preprocess", "policy", "profile", "variant", "connections", "timeout", "retries",
    "mode", "threads", "context_tokens", "base_url", "grader_base_url", "tokenizer", "per_request", "prices",
    "criterion",
)  # fmt: skip
"""Options that belong into a run file where there is one."""


def run(
    target: Annotated[
        str,
        typer.Argument(
            help="The suite, devbench for example; or a run file, FILE.toml.", metavar="SUITE|FILE"
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="SPEC",
            help="A model: PROVIDER/MODEL, or NAME=PROVIDER/MODEL; may be repeated. grader=… judges.",
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", "-n", min=1, help="Answers wanted of each problem (1).")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="The problems: starter (the default), released, or a folder.")
    ] = None,
    chosen: Select = None,
    limit: Limit = None,
    preset: Annotated[
        str | None, typer.Option(help="How a paper drew its answers: devbench-paper, c3-paper; or greedy.")
    ] = None,
    temperature: Annotated[str | None, typer.Option(help="A number, or none: do not send it (0.2).")] = None,
    top_p: Annotated[str | None, typer.Option(help="A number, or none: do not send it (1.0).")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens of an answer at most (800).")] = None,
    seed: Annotated[int | None, typer.Option(help="Sent to the model, where it takes one.")] = None,
    prompt: Annotated[
        str | None,
        typer.Option(help="The prompt strategy; auto: what the model takes and its tokens decide."),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(help="What else of a project is shown (simcopilot): as_is, retrieval, …"),
    ] = None,
    prompt_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens of a prompt at most; by default what the context leaves."),
    ] = None,
    preprocess: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A plug-in that changes what is shown; may be repeated."),
    ] = None,
    policy: shared.PolicyNames = None,
    profile: Annotated[
        str | None,
        typer.Option(help="default: as it should be scored; paper: as the released code scores."),
    ] = None,
    variant: shared.Variants = None,
    connections: Annotated[int | None, typer.Option(min=1, help="Requests under way at once (8).")] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds for one try (120; 1800 for models on this machine).")
    ] = None,
    retries: Annotated[int | None, typer.Option(min=0, help="Tries after the first (5).")] = None,
    per_request: Annotated[
        bool | None,
        typer.Option(
            "--together/--one-by-one",
            help="Several samples by one request; by default where it is known to work.",
        ),
    ] = None,
    mode: Annotated[
        str | None, typer.Option(help="Local models: reproducible (one slot, no cache), or fast.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Local models: threads that compute.")] = None,
    context_tokens: Annotated[
        int | None, typer.Option(min=1, help="Room for prompt and answer together, in tokens.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="The provider's address; graders have their own.")
    ] = None,
    grader_base_url: Annotated[str | None, typer.Option(help="The graders' address.")] = None,
    tokenizer: Annotated[
        Path | None, typer.Option(help="The model's tokenizer.json, where the provider has none.")
    ] = None,
    prices: Annotated[Path | None, typer.Option(help="What tokens cost: a TOML file.")] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, help="US dollars, over the whole run: nothing is sent that could cost more."),
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option(help="What graders are asked: a name or a TOML file. By default the profile's."),
    ] = None,
    baseline: shared.Baselines = shared.ALL_BASELINES,
    execute: shared.Execute = True,
    score: Annotated[
        bool, typer.Option("--score/--no-score", help="Score and report after generating.")
    ] = True,
    probe: Annotated[
        bool, typer.Option("--probe", help="Ask each model some short things first: does it see the suffix?")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and what it would cost; send nothing.")
    ] = False,
    output: shared.Output = None,
    workers: Workers = None,
    engine: Engine = "local",
    use_cache: shared.UseCache = True,
    fail_under: shared.FailUnder = None,
    html: shared.Html = True,
    as_json: AsJson = False,
) -> None:
    """Ask models, then score what they answered.

    The same command goes on after a stop; nothing is asked twice.
    """
    options: dict[str, Any] = dict(locals())  # by name, as the functions below take them
    from caretbench.cli.dry_run import dry_run as forecast
    from caretbench.cli.run_file import load_run_file
    from caretbench.cli.running import carry_out

    common: dict[str, Any] = {
        "workers": workers, "engine": engine, "use_cache": use_cache, "probe": probe, "dry_run": dry_run, "html": html,
        "as_json": as_json,
    }  # fmt: skip
    if target.endswith(".toml"):
        _refuse_options(options)
        plan = load_run_file(
            Path(target), output=output, max_cost=max_cost, fail_under=fail_under, score=score,
            execute=execute, baseline=None if baseline == shared.ALL_BASELINES else baseline, common=common,
        )  # fmt: skip
    else:
        plan = _plan(options, common)
    if dry_run:
        forecast(plan)
    else:
        carry_out(plan)


def _refuse_options(options: Mapping[str, Any]) -> None:
    given = [name for name in _OF_A_FILE if options[name] not in (None, [], ())]
    if given:
        spelled = {"chosen": "select", "samples": "samples (-n)", "per_request": "together"}
        names = ", ".join(f"--{spelled.get(name, name).replace('_', '-')}" for name in given)
        raise ValueError(f"{names}: a run file says this itself; change it there")


def _plan(options: dict[str, Any], common: dict[str, Any]) -> Plan:
    """The plan that the options are.

    Raises:
        ValueError: an option is wrong.
        KeyError: a name is unknown.
    """
    from pydantic import ValidationError

    from caretbench.cli import run_plan as plans
    from caretbench.files import describe
    from caretbench.inspect.client.options import ClientOptions
    from caretbench.runs.prices import Prices

    try:
        sampling, samples = plans.sampling(
            options["preset"],
            options["samples"],
            {
                "temperature": _number("temperature", options["temperature"]),
                "top_p": _number("top-p", options["top_p"]),
                "max_tokens": options["max_tokens"],
                "seed": options["seed"],
            },
        )
        reached = plans.client_options(
            {
                "connections": options["connections"],
                "timeout_s": options["timeout"],
                "max_retries": options["retries"],
                "per_request": options["per_request"],
                "base_url": options["base_url"],
                "mode": options["mode"],
                "threads": options["threads"],
                "context_tokens": options["context_tokens"],
                "tokenizer": options["tokenizer"],
            }
        )
    except ValidationError as error:
        raise ValueError(f"--{describe(error)}") from None
    # What is local belongs to the models that are measured, and an address to one side: it is sent a key.
    graded = reached.model_copy(
        update={name: ClientOptions.model_fields[name].default for name in plans.OF_THE_MEASURED}
        | {"base_url": options["grader_base_url"]}
    )
    models, graders = [], []
    for option in options["model"] or ():
        name, spec = plans.named_spec(option)
        if name == plans.GRADER:
            graders.append(plans.GraderPlan(plans.named_spec(spec)[0], spec, graded))
            continue
        models.append(
            plans.ModelPlan(
                name,
                spec,
                sampling,
                samples,
                options["prompt"],
                options["context"],
                tuple(options["preprocess"] or ()),
                options["prompt_tokens"],
                reached,
            )
        )
    _check_addresses(options, graders)
    subject = shared.Subject.of(
        options["target"], data=options["data"] or "starter", chosen=options["chosen"], limit=options["limit"],
        policy=options["policy"], profile=options["profile"] or "default", variants=options["variant"] or (),
        execute=options["execute"], output=options["output"],
    )  # fmt: skip
    return plans.Plan(
        models=models,
        subjects=[subject],
        graders=graders,
        criterion=options["criterion"],
        prices=Prices.load(options["prices"]) if options["prices"] else Prices(),
        max_cost=options["max_cost"],
        baselines=shared.baseline_names(options["baseline"], [subject.suite]),
        score=options["score"],
        fail_under=options["fail_under"],
        **common,
    )


def _check_addresses(options: Mapping[str, Any], graders: Sequence[object]) -> None:
    """Say whose address is given.

    Raises:
        ValueError: one for graders, and there is none.
    """
    if options["grader_base_url"] and not graders:
        raise ValueError("--grader-base-url: nobody judges; name a grader: -m grader=PROVIDER/MODEL")
    if options["base_url"] and graders and not options["grader_base_url"]:
        note(
            "--base-url is for the models that are measured; graders are asked at their provider's own address, or at "
            "--grader-base-url"
        )


def _number(name: str, value: str | None) -> NumberOrNone:
    if value is None or value == "none":
        return value  # type: ignore[return-value] # the word itself
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"--{name} {value!r}: expected a number, or none") from None
