"""``caretbench sft``: training pairs, benchmarks that must not be among them, and tuning."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from caretbench.cli.build import model_options, models_config, print_dry_run
from caretbench.cli.command_help import HelpCommand, HelpGroup
from caretbench.cli.common import (
    AsJson,
    StepProgress,
    check_access,
    exit_on_complaints,
    join_counts,
    open_client,
    print_json,
    print_line,
    print_note,
    print_notes,
    print_table,
)
from caretbench.cli.options import group_by_role, panel_option, with_options
from caretbench.errors import UsageError
from caretbench.text_tables import counted

if TYPE_CHECKING:
    from caretbench.training.pair_set import PairSet
    from caretbench.training.tuning.tuning import TuningPlan

_OWN = ("seed", "context", "model")
"""Names of options of ``make`` in place of those of a run."""
_pairs_option, _base_option = panel_option("Pairs"), panel_option("Base")
_steps_option, _course_option = panel_option("Steps"), panel_option("Course")

app = typer.Typer(
    cls=HelpGroup,
    no_args_is_help=True,
    help="""Make training pairs of a completion model, keep benchmarks out of them, and tune a model on them.

Examples:
  caretbench sft make tomli==2.0.1 ../my-project -o pairs
  caretbench sft train clean --model smollm2 --method lora -o tuned""",
)


# Long: a command is declared by its options.
@app.command("make", cls=HelpCommand)
@with_options(*model_options(_OWN))
def make(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE", help="Folder, archive, NAME==VERSION, or repository.")
    ],
    output: Annotated[Path, _pairs_option("--output", "-o", help="Folder of the pairs.")],
    model: Annotated[
        list[str] | None,
        _pairs_option(
            "--model",
            "-m",
            metavar="[ROLE=]SPEC",
            help="seeder=SPEC writes the first instructions, generator=SPEC all others by their example; without a "
            "role: count tokens as this model does.",
        ),
    ] = None,
    share: Annotated[
        list[str] | None,
        _pairs_option(
            metavar="BOUNDARY=SHARE", help="Share of pairs: character, token, line, block, instruction, rewrite."
        ),
    ] = None,
    per_file: Annotated[int, _pairs_option(min=1, metavar="N", help="Pairs of each file.")] = 12,
    context: Annotated[int, _pairs_option(min=200, metavar="N", help="Characters around a middle.")] = 8_000,
    language: Annotated[
        list[str] | None, _pairs_option(metavar="NAME", help="Only this language; may be repeated.")
    ] = None,
    seed: Annotated[int, _pairs_option(help="Random seed of middles, files for seeds, and examples.")] = 0,
    seeds: Annotated[
        int, _pairs_option(min=1, metavar="N", help="Maximum number of files for seeds; at most half of all.")
    ] = 1000,
    dry_run: Annotated[
        bool, _pairs_option("--dry-run", help="Print the requests, their addresses and cost; send and write nothing.")
    ] = False,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Make pairs of permissively licensed sources: instruction, prefix, middle, suffix.

    Middles end at characters, tokens, lines or blocks. Those with an instruction are C3-Bench's scale-control
    completion, or are chosen by models. Sources without a licence that allows passing on are refused. The same command
    goes on after a stop, and asks nothing twice.

    Examples:
      caretbench sft make tomli==2.0.1 attrs==24.2.0 -o pairs
      caretbench sft make ../my-project -o pairs -m seeder=openai/gpt-4o -m generator=openai/gpt-4o-mini
    """
    from caretbench.build.build_models import AnswersMissingError, BuildModels
    from caretbench.build.models.config import models_by_role
    from caretbench.build.models.dry_run import rehearse
    from caretbench.build.models.stored_models import StoredBuildModels
    from caretbench.errors import check_folder_is_writable
    from caretbench.models import without_sending
    from caretbench.training.pair_making import PairOptions
    from caretbench.training.pair_set import PAIR_ROLES, make_pair_set, parse_shares, terms_notes

    counting = [entry.spec for entry in group_by_role(model or (), PAIR_ROLES).get(None, ())]
    if len(counting) > 1:
        raise UsageError(f"-m {counting[1]}: tokens are counted by one model; roles: {', '.join(PAIR_ROLES)}")
    roles = models_by_role("pairs", PAIR_ROLES, [option for option in model or () if option not in counting])
    config = models_config(roles, options)
    chosen = PairOptions(per_file, parse_shares(share or ()), context, language or (), seed)
    print_notes(terms_notes({role: named[0].spec for role, named in roles.items()}))
    with StepProgress(quiet=as_json) as steps:

        def made(folder: Path, models: BuildModels) -> PairSet:
            return make_pair_set(sources, folder, chosen, steps, models, seeds)

        if dry_run:
            forecast = rehearse(made, output, config, without_sending(open_client))
        else:
            check_folder_is_writable(output)
            config.check_access(check_access)
            try:
                with StoredBuildModels(config, output, open_client, steps) as models:
                    result = made(output, models)
            except AnswersMissingError as error:
                exit_on_complaints([str(error)])
    if dry_run:
        print_dry_run(forecast, as_json=as_json)
    elif as_json:
        print_json(result.numbers)
    else:
        _print_pairs(result, counting[0] if counting else None)


def _print_pairs(made: PairSet, model: str | None) -> None:
    """Print what a set of pairs has, in tokens of ``model``.

    Raises:
        Exit: it has no pair.
    """
    from caretbench.models import ClientOptions
    from caretbench.runs.generate import count_or_estimate_tokens, estimate_tokens
    from caretbench.training.pair_set import token_tables

    for source in made.sources:
        if source.refused:
            print_note(f"{source.source}: refused: {source.refused}")
        for reason, count in source.passed_over.items():
            print_note(f"{source.source}: {counted(count, 'file')} passed over: {reason}")
    if not made.pairs:
        print_note("no pair: nothing is written")
        raise typer.Exit(1)
    client = open_client(model, ClientOptions()) if model else None
    length = estimate_tokens if client is None else partial(count_or_estimate_tokens, client)
    for table in token_tables(made.path, length, f"tokens of {model}" if model else "tokens (estimated)"):
        print_table(table.rows, table.columns)
        print_line()
    if made.chosen is not None:
        refused = join_counts(made.chosen.faults) or "none"
        chosen = counted(len(made.chosen.pairs), "pair")
        print_line(f"models chose {chosen}, {made.chosen.seeds} of them seeds; refused: {refused}")
    print_line(f"{made.path}: {made.pairs} pairs of {sum(source.files for source in made.sources)} files")


@app.command("decontaminate", cls=HelpCommand)
def decontaminate(
    corpus: Annotated[Path, typer.Argument(help="Pairs, JSONL (.gz too), or a folder of these or of source files.")],
    against: Annotated[
        list[str],
        typer.Option(
            metavar="SUITE[=DATA]|FOLDER", help="Benchmark; may be repeated. DATA: starter, released, a folder."
        ),
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder of the rows that stay.")] = None,
    rule: Annotated[
        Literal["default", "strict"],
        typer.Option(help="default: long runs of common tokens, without boilerplate. strict: any common 10-gram."),
    ] = "default",
    min_run: Annotated[int, typer.Option(min=10, metavar="N", help="Tokens of a run, under default.")] = 30,
    as_json: AsJson = False,
) -> None:
    """Remove the rows of a corpus that hold a problem of a benchmark; without -o, report them alone.

    Blanks and line ends do not matter. Each removed row names the problem that it met.

    Examples:
      caretbench sft decontaminate pairs --against devbench -o clean
      caretbench sft decontaminate corpus.jsonl.gz --against humaneval-infilling=released
    """
    from caretbench.training import decontamination

    if output is not None and output.resolve() == corpus.resolve():
        raise UsageError(f"-o {output}: the corpus itself; name another folder")
    with StepProgress(quiet=as_json) as steps:
        outcome = decontamination.decontaminate(corpus, against, output, rule=rule, min_run=min_run, progress=steps)
    if as_json:
        print_json(outcome._asdict())
        return
    rows = [
        (name, str(count), str(len(outcome.met[name])), str(sum(outcome.met[name].values())))
        for name, count in outcome.problems.items()
    ]
    print_table(rows, ("Benchmark", "Texts of problems", "Met", "Rows removed"))
    print_line(f"\n{corpus}: {outcome.removed} of {outcome.rows} rows hold a problem ({rule} rule)")
    if output is not None:
        print_line(f"{output}: {outcome.rows - outcome.removed} rows stay; removed.jsonl names what each other row met")


# Long: one parameter for each option.
@app.command("train", cls=HelpCommand)
def train(
    pairs: Annotated[Path, typer.Argument(help="Folder of pairs, decontaminated.")],
    model: Annotated[str, _base_option(metavar="smollm2|FOLDER|GGUF", help="Base weights.")],
    output: Annotated[Path, _base_option("--output", "-o", help="Folder of the tuned model.")],
    method: Annotated[Literal["lora", "full"], _base_option(help="An adapter, or all weights.")] = "lora",
    preset: Annotated[
        Literal["lora", "c3-sft"] | None, _base_option(help="c3-sft: full, as in C3-Bench's paper.")
    ] = None,
    prompt: Annotated[
        str, _base_option(metavar="NAME", help="Prompt that runs will send; auto: as `run` chooses.")
    ] = "auto",
    steps: Annotated[int | None, _steps_option(min=1, metavar="N", help="Steps. Default: all pairs once.")] = None,
    batch: Annotated[int | None, _steps_option(min=1, metavar="N", help="Pairs computed together.")] = None,
    accumulate: Annotated[int | None, _steps_option(min=1, metavar="N", help="Batches of one step.")] = None,
    max_tokens: Annotated[int | None, _steps_option(min=32, metavar="N", help="Tokens of prompt and middle.")] = None,
    learning_rate: Annotated[float | None, _steps_option(metavar="RATE", help="Adam's learning rate.")] = None,
    warmup: Annotated[int | None, _steps_option(min=0, metavar="N", help="Steps until the full rate.")] = None,
    rank: Annotated[int | None, _steps_option(min=1, metavar="N", help="Rank of the adapter.")] = None,
    held_out: Annotated[
        int | None, _steps_option(min=0, metavar="N", help="Pairs of other files, for their loss alone.")
    ] = None,
    save_every: Annotated[int | None, _course_option(min=1, metavar="N", help="Steps between checkpoints.")] = None,
    seed: Annotated[int | None, _steps_option(help="Random seed of order and adapter.")] = None,
    device: Annotated[Literal["cpu", "cuda"], _course_option(help="cuda: in bfloat16.")] = "cpu",
    threads: Annotated[
        int | None, _course_option(min=1, metavar="N", help="Threads. Default: all physical cores but one.")
    ] = None,
    not_decontaminated: Annotated[
        bool, _base_option("--not-decontaminated", help="Take pairs without a report of their decontamination.")
    ] = False,
    merged: Annotated[bool, _course_option("--merge", help="Also write base and adapter as one model.")] = False,
    dry_run: Annotated[
        bool, _course_option("--dry-run", help="Print steps, memory and time, and train nothing.")
    ] = False,
) -> None:
    """Tune a model on pairs; the same command goes on after a stop.

    The loss is that of the middle alone, after exactly the prompt that `run` would send. Needs the extra `train`.
    Several processes: torchrun --nproc_per_node N -m caretbench sft train …

    Examples:
      caretbench sft train clean --model smollm2 -o tuned --steps 200 --batch 2 --max-tokens 256
      caretbench sft train clean --model smollm2 -o tuned --method full --preset c3-sft
    """
    from caretbench.training.tuning import tuning

    if not not_decontaminated:
        tuning.check_decontaminated(pairs)
    settings = tuning.chosen_settings(preset, method, {
        "prompt": prompt, "steps": steps, "batch": batch, "accumulate": accumulate, "max_tokens": max_tokens,
        "learning_rate": learning_rate, "warmup": warmup, "rank": rank, "held_out": held_out,
        "save_every": save_every, "seed": seed, "device": device,
    })  # fmt: skip
    with StepProgress() as progress:
        plan = tuning.plan_tuning(pairs, model, settings, progress)
        for reason, count in plan.skipped.items():
            print_note(f"{counted(count, 'pair')} passed over: {reason}")
        if dry_run:
            _print_forecast(plan)
            return
        curve = tuning.tune(plan, output, progress, threads=threads)
        if merged and method == "lora":
            print_line(f"{tuning.merge(plan, output)}: base and adapter as one model")
    print_line(curve.line())
    name = f"gguf/{model}+{output}" if method == "lora" else f"gguf/{output}"
    print_line(f"{output}: {plan.steps} steps; ask it with -m {name} --prompt {plan.prompt.partition('@')[0]}")


def _print_forecast(plan: TuningPlan) -> None:
    from caretbench.training.tuning.tuning import forecast

    memory, step_s = forecast(plan)
    time = "not estimated" if step_s is None else f"{step_s * plan.steps / 60:.0f} CPU minutes"
    print_line(
        f"{plan.steps} steps of {plan.tokens_per_step:.0f} tokens ({plan.prompt}), {len(plan.examples.training)} "
        f"pairs, {len(plan.examples.held_out)} held out; about {memory / 1e9:.1f} GB, {time}"
    )
