"""``caretbench show``: one problem as a model sees it and its hidden parts, or the prompts of all problems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.common import SELECTION, AsJson, Data, SuiteName, print_line, print_note, selection
from caretbench.cli.options import with_options
from caretbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caretbench.problem import Caret, Problem

_REMEDY = "without --prompt every problem has a conversation, and --select or --limit choose problems"


@with_options(*SELECTION)
def show(
    suite_name: SuiteName,
    problem_id: Annotated[
        str | None,
        typer.Argument(metavar="PROBLEM", help="Id of the problem; `caretbench list SUITE --ids` prints all ids."),
    ] = None,
    data: Data = "starter",
    prompts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the prompts of all problems, or of the selected ones, to this file, one JSON line per problem.",
        ),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            help="Prompt strategy of --prompts: natural, left-to-right or fim/FORMAT, for example. Default: a "
            "conversation."
        ),
    ] = None,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Print one problem: the text that a model sees, the hidden text, checks and labels. Or write prompts to a file.

    Examples:
      caretbench show devbench python/api_usage/latency-percentiles
      caretbench show devbench --prompts prompts.jsonl
    """
    from caretbench.suites import load_problems, load_suite

    suite = load_suite(suite_name)
    loaded = load_problems(suite, data).problems
    if prompts is not None:
        if problem_id is not None:
            raise UsageError("--prompts cannot be combined with a problem's id; --select and --limit choose problems")
        _write_prompts(suite_name, selection(options).apply(suite, loaded), prompts, prompt)
        return
    refused = [f"--{name.replace('_', '-')}" for name in SELECTION if options[name] is not None]
    if refused or prompt is not None:
        raise UsageError(f"{', '.join([*refused, *(['--prompt'] if prompt else [])])}: give it with --prompts FILE")
    if problem_id is None:
        raise UsageError(
            f"no PROBLEM: name one of `caretbench list {suite_name} --ids`, or write all prompts with --prompts FILE"
        )
    problem = next((problem for problem in loaded if problem.id == problem_id), None)
    if problem is None:
        raise UsageError(
            f"{suite_name} ({data}) has no problem {problem_id!r}; see `caretbench list {suite_name} --ids`"
        )
    if as_json:
        print_line(problem.model_dump_json(indent=2))
        return
    _print_problem(problem)


def _write_prompts(suite_name: str, problems: Sequence[Problem], path: Path, prompt: str | None) -> None:
    from caretbench.files import write_atomically
    from caretbench.prompts import AUTO
    from caretbench.prompts.prompt_rows import prompt_row
    from caretbench.prompts.strategy import UnpromptableError
    from caretbench.suites.completion_files import ROW_FORM
    from caretbench.text_tables import counted

    rows, refused = [], []
    for problem in problems:
        try:
            rows.append(json.dumps(prompt_row(problem, prompt or AUTO), ensure_ascii=False))
        except UnpromptableError as error:
            refused.append(f"{problem.id}: {error}")
    if not rows:
        raise UsageError(f"{refused[0]}; {_REMEDY}")
    if refused:
        print_note(f"{counted(len(refused), 'problem')} without a prompt, {refused[0]}; {_REMEDY}")
    write_atomically(path, "".join(f"{row}\n" for row in rows))
    print_line(
        f"{path}: {counted(len(rows), 'prompt')}; write each answer as a line {ROW_FORM}, then: caretbench score "
        f"{suite_name} --completions ANSWERS.jsonl"
    )


def _print_problem(problem: Problem) -> None:
    from caretbench.problem import Caret, FileSplice, Question
    from caretbench.prompts.question import LETTERS

    print_line(f"{problem.id}    {', '.join(f'{name}={problem.label(name)}' for name in problem.labels)}")
    print_line(f"source: {problem.provenance.source} {problem.provenance.revision or ''}".rstrip())
    if isinstance(problem.shown, Caret):
        _print_caret(problem, problem.shown)
    if isinstance(problem.shown, Question):
        for message in problem.shown.messages:
            print_line(f"\n--- {message.role} message (shown as released) ---")
            print_line(message.text)
        print_line(f"\n--- question ({'for baselines and measures' if problem.shown.messages else 'shown'}) ---")
        print_line(problem.shown.text)
        for file in problem.shown.context:
            print_line(f"--- {file.path} (shown) ---")
            print_line(file.text)
        for letter, choice in zip(LETTERS, problem.shown.choices, strict=False):
            print_line(f"--- choice {letter} (shown) ---")
            print_line(choice)
        print_line("--- reference ---")
        print_line(problem.reference)
    if problem.hidden_tests.strip():
        print_line("--- hidden tests ---")
        print_line(problem.hidden_tests)
    if isinstance(problem.splice, FileSplice):
        splice = problem.splice
        print_line(f"--- place ---\n{splice.path}, bytes {splice.start} to {splice.end}, of project {splice.snapshot}")
    print_line("--- checks ---")
    for check in problem.checks:
        print_line(check.model_dump_json())


def _print_caret(problem: Problem, caret: Caret) -> None:
    if caret.statement:
        print_line("\n--- statement (shown) ---")
        print_line(caret.statement)
    if caret.instruction:
        print_line("\n--- instruction (shown) ---")
        print_line(caret.instruction)
    print_line("\n--- prefix (shown) ---")
    print_line(caret.prefix)
    print_line("--- reference ---")
    print_line(problem.reference)
    print_line("--- suffix (shown) ---")
    print_line(caret.suffix)
