"""Problems of all scenarios from validated candidates: a block is validated once, and shown in several ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import sha256_text
from caretbench.problem import Problem
from caretbench.projects.answer_requests import file_splice
from caretbench.projects.file_spans import visible_text
from caretbench.projects.snapshot_analysis import analyse_snapshot
from caretbench.suites.codevbench.build.mix_weights import becomes_problem
from caretbench.suites.codevbench.scenario_names import FULL_BLOCK, INCOMPLETE_SUFFIX, INNER_BLOCK, RAG
from caretbench.suites.codevbench.similar_functions import enclosing_function, similar_functions
from caretbench.suites.usage_weights import Weights
from caretbench.syntax import ProjectAnalysis


def scenario_problems(candidates: Iterable[Problem], weights: Weights, store: SnapshotStore) -> Iterator[Problem]:
    """Yield the problems of all scenarios, those of one candidate together.

    Inner blocks are problems by themselves. A whole block gives one of scenario 1, two of scenario 3, and one of
    scenario 4, as far as the weights want them. Blocks that begin at the same byte give the same prompt in scenario 3:
    the first of them is taken; and without the rest of its function, a block at the beginning of a body has the prompt
    of the whole body in scenario 1.
    """
    accepted = list(candidates)
    bodies = {_place(problem) for problem in accepted if problem.label("block") == "method"}
    begun: set[tuple[str, int, str]] = set()
    for problem in accepted:
        if problem.label("scenario") == INNER_BLOCK:
            yield problem
            continue
        splice = file_splice(problem)
        analysis = analyse_snapshot(splice.snapshot, store, required_file=splice.path)
        for scenario, made in _scenarios(problem, analysis):
            draw = int(sha256_text(problem.id, scenario)[:12], 16) / 16**12
            place = (*_place(made), made.label("cut"))
            is_body = _place(made) in bodies and made.label("block") != "method"
            if place in begun or (made.label("cut") == "function_emptied" and is_body):
                continue  # the same prompt has another right answer
            if not becomes_problem(weights, scenario, draw):
                continue
            if scenario == INCOMPLETE_SUFFIX:
                begun.add(place)
            yield made


def _place(problem: Problem) -> tuple[str, int]:
    splice = file_splice(problem)
    return splice.path, splice.start


def _scenarios(problem: Problem, analysis: ProjectAnalysis) -> Iterator[tuple[str, Problem]]:
    yield FULL_BLOCK, problem
    splice = file_splice(problem)
    function = enclosing_function(analysis, splice.path, (splice.start, splice.end))
    rest = visible_text(analysis[splice.path].source.data[function.end :])
    whole = problem.caret.suffix
    if whole.strip():
        yield INCOMPLETE_SUFFIX, _shown(problem, INCOMPLETE_SUFFIX, "file_emptied", suffix="")
    if rest.strip() and rest.strip() != whole.strip():
        yield INCOMPLETE_SUFFIX, _shown(problem, INCOMPLETE_SUFFIX, "function_emptied", suffix=rest)
    found = similar_functions(problem, analysis)
    if found:
        yield RAG, _shown(problem, RAG, "block", context=found, repository=problem.label("project"))


def _shown(problem: Problem, scenario: str, cut: str, **changes: object) -> Problem:
    """Return a problem in another scenario, with changes of what is shown."""
    place = problem.id.rpartition(":")[0]
    return problem.model_copy(
        update={
            "id": f"{place}:{scenario}.{problem.label('block')}.{cut}",
            "shown": problem.caret.model_copy(update=changes),
            "labels": {**problem.labels, "scenario": scenario, "cut": cut},
        }
    )
