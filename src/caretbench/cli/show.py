"""``caretbench show``: one problem as a model sees it, and its hidden parts."""

from __future__ import annotations

from typing import Annotated

import typer

from caretbench.cli.common import AsJson, Data, SuiteName, say


# Long: one line for each part of a problem.
def show(
    suite_name: SuiteName,
    problem_id: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM", help="Id of the problem; `caretbench list SUITE --ids` prints all ids."
        ),
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
    from caretbench.suites import load_problems, suite

    problems = {problem.id: problem for problem in load_problems(suite(suite_name), data).problems}
    problem = problems.get(problem_id)
    if problem is None:
        raise ValueError(
            f"{suite_name} ({data}) has no problem {problem_id!r}; see `caretbench list {suite_name} --ids`"
        )
    if as_json:
        say(problem.model_dump_json(indent=2))
        return
    say(f"{problem.id}    {', '.join(f'{name}={problem.label(name)}' for name in problem.labels)}")
    say(f"source: {problem.provenance.source} {problem.provenance.revision or ''}".rstrip())
    if isinstance(problem.shown, Caret):
        say("\n--- prefix (shown) ---")
        say(problem.shown.prefix)
        say("--- reference ---")
        say(problem.reference)
        say("--- suffix (shown) ---")
        say(problem.shown.suffix)
    if isinstance(problem.shown, Question):
        say("\n--- question (shown) ---")
        say(problem.shown.text)
        for file in problem.shown.context:
            say(f"--- {file.path} (shown) ---")
            say(file.text)
        for letter, choice in zip(LETTERS, problem.shown.choices, strict=False):
            say(f"--- choice {letter} (shown) ---")
            say(choice)
        say("--- reference ---")
        say(problem.reference)
    if isinstance(problem.splice, InlineSplice):
        hidden = problem.splice.after.removeprefix(problem.caret.suffix)
        if hidden.strip():
            say("--- hidden tests ---")
            say(hidden)
    if isinstance(problem.splice, FileSplice):
        splice = problem.splice
        say(
            f"--- place ---\n{splice.path}, bytes {splice.start} to {splice.end}, of project {splice.snapshot}"
        )
    say("--- checks ---")
    for check in problem.checks:
        say(check.model_dump_json())
