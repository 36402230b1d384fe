"""``caretbench sft``: training pairs, and benchmarks that must not be among them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from caretbench.cli.command_help import HelpCommand, HelpGroup
from caretbench.cli.common import AsJson, StepProgress, open_client, print_json, print_line, print_note, print_table
from caretbench.errors import UsageError

app = typer.Typer(
    cls=HelpGroup,
    no_args_is_help=True,
    help="""Make training pairs of a completion model, and keep benchmarks out of them.

Examples:
  caretbench sft make tomli==2.0.1 ../my-project -o pairs
  caretbench sft decontaminate pairs --against devbench --against humaneval-infilling=released -o clean""",
)


@app.command("make", cls=HelpCommand)
def make(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE", help="Folder, archive, NAME==VERSION, or repository.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the pairs.")],
    share: Annotated[
        list[str] | None,
        typer.Option(metavar="BOUNDARY=SHARE", help="Share of pairs: character, token, line, block, instruction."),
    ] = None,
    per_file: Annotated[int, typer.Option(min=1, metavar="N", help="Pairs of each file.")] = 12,
    context: Annotated[int, typer.Option(min=200, metavar="N", help="Characters around a middle.")] = 8_000,
    language: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this language; may be repeated.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="SPEC", help="Count tokens as this model does.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the middles.")] = 0,
) -> None:
    """Make pairs of permissively licensed sources: instruction, prefix, middle, suffix.

    Middles end at characters, tokens, lines or blocks; those with an instruction are C3-Bench's scale-control
    completion. Sources without a licence that allows passing on are refused.

    Examples:
      caretbench sft make tomli==2.0.1 attrs==24.2.0 -o pairs
      caretbench sft make ../my-project -o pairs --share block=1
    """
    from caretbench.models import ClientOptions
    from caretbench.runs.generate import count_or_estimate_tokens, estimate_tokens
    from caretbench.training.pair_set import make_pair_set, parse_shares, token_tables

    with StepProgress() as steps:
        made = make_pair_set(
            sources, output, shares=parse_shares(share or ()), per_file=per_file, context=context,
            languages=language or (), seed=seed, progress=steps,
        )  # fmt: skip
        client = open_client(model, ClientOptions()) if model else None
        length = estimate_tokens if client is None else partial(count_or_estimate_tokens, client)
        tables = token_tables(made.path, length, f"tokens of {model}" if model else "tokens (estimated)")
    for one in made.sources:
        if one.refused:
            print_note(f"{one.source}: refused: {one.refused}")
        for reason, count in one.passed_over.items():
            print_note(f"{one.source}: {count} files passed over: {reason}")
    for table in tables:
        print_table(table.rows, table.head)
        print_line()
    print_line(f"{made.path}: {made.pairs} pairs of {sum(one.files for one in made.sources)} files")
    if not made.pairs:
        raise typer.Exit(1)


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
    from caretbench.training.decontaminated_set import decontaminate_corpus

    if output is not None and output.resolve() == corpus.resolve():
        raise UsageError(f"-o {output}: the corpus itself; name another folder")
    with StepProgress(quiet=as_json) as steps:
        found = decontaminate_corpus(corpus, against, output, rule=rule, min_run=min_run, progress=steps)
    if as_json:
        print_json(found._asdict())
        return
    rows = [
        (name, str(count), str(len(found.met[name])), str(sum(found.met[name].values())))
        for name, count in found.problems.items()
    ]
    print_table(rows, ("Benchmark", "Texts of problems", "Met", "Rows removed"))
    print_line(f"\n{corpus}: {found.removed} of {found.rows} rows hold a problem ({rule} rule)")
    if output is not None:
        print_line(f"{output}: {found.rows - found.removed} rows stay; removed.jsonl names what each other row met")
