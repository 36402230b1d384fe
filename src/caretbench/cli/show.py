"""``caretbench show``: one problem as a model sees it, and its hidden parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from caretbench.cli.common import AsJson, Data, SuiteName, print_line

if TYPE_CHECKING:
    from caretbench.problem import Caret, Problem


def show(
    suite_name: SuiteName,
    problem_id: Annotated[
        str, typer.Argument(metavar="PROBLEM", help="Id of the problem; `caretbench list SUITE --ids` prints all ids.")
    ],
    data: Data = "starter",
    as_json: AsJson = False,
) -> None:
    """Print one problem: the text that a model sees, the hidden text, checks and labels.

    Examples:
      caretbench show devbench python/api_usage/latency-percentiles
    """
    from caretbench.problem import Caret, FileSplice, InlineSplice, Question
    from caretbench.prompts.question import LETTERS
    from caretbench.suites import load_problems, load_suite

    problems = {problem.id: problem for problem in load_problems(load_suite(suite_name), data).problems}
    problem = problems.get(problem_id)
    if problem is None:
        raise ValueError(
            f"{suite_name} ({data}) has no problem {problem_id!r}; see `caretbench list {suite_name} --ids`"
        )
    if as_json:
        print_line(problem.model_dump_json(indent=2))
        return
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
    if isinstance(problem.splice, InlineSplice):
        hidden = problem.splice.after.removeprefix(problem.caret.suffix)
        if hidden.strip():
            print_line("--- hidden tests ---")
            print_line(hidden)
    if isinstance(problem.splice, FileSplice):
        splice = problem.splice
        print_line(f"--- place ---\n{splice.path}, bytes {splice.start} to {splice.end}, of project {splice.snapshot}")
    print_line("--- checks ---")
    for check in problem.checks:
        print_line(check.model_dump_json())


def _print_caret(problem: Problem, caret: Caret) -> None:
    if caret.instruction:
        print_line("\n--- instruction (shown) ---")
        print_line(caret.instruction)
    print_line("\n--- prefix (shown) ---")
    print_line(caret.prefix)
    print_line("--- reference ---")
    print_line(problem.reference)
    print_line("--- suffix (shown) ---")
    print_line(caret.suffix)
