"""SimCopilot: infill and completion inside real programs, stratified by construct and distance."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

import tree_sitter

from caretbench.files import DataError
from caretbench.languages import get_language
from caretbench.metrics.similarity import similarities
from caretbench.problem import Caret, FileSplice, Problem, Profile
from caretbench.profiles import ProfileRule, ProfileRules
from caretbench.projects.answer_requests import file_splice, original_file
from caretbench.projects.project import snapshot_scopes
from caretbench.suites import register
from caretbench.suites.base import Suite
from caretbench.suites.simcopilot.contexts import CONTEXT_VERSION, CONTEXTS, build_context
from caretbench.suites.simcopilot.released import spans as released
from caretbench.suites.simcopilot.released.released_problems import released_problems, split_variant
from caretbench.suites.simcopilot.released.spans import released_folder
from caretbench.suites.simcopilot.rules import paper_rules
from caretbench.suites.stored_tasks import stored_tasks
from caretbench.suites.suite_types import Measurement, PaperTable, ProblemSet, Stratification
from caretbench.syntax.parser import fault_count, layout_faults, parse, walk

RELEASED: Final = "released/"
"""Beginning of the ids of released tasks."""


class SimCopilotProfile(ProfileRules):
    """Scoring rules of SimCopilot's profiles ``paper`` and ``default``."""

    policy = ProfileRule("Default truncation policy", paper="simcopilot/repair", default="block")


@register
class SimCopilot(Suite):
    """SimCopilot: blocks of a project, decided by its tests; see :class:`caretbench.suites.base.Suite`."""

    name = "simcopilot"
    title = "SimCopilot"
    about = "infill and completion inside real programs, stratified by construct and distance"
    needs = "Python and Java"
    cpu_minutes = 1.2
    further_data = "--data released"
    typed_references = True
    strata = ("language", "mode", "constructs", "block", "project")
    stratification = Stratification(
        labels=(
            "language", "mode", "constructs", "structure", "block",
            "reference_distance", "reference_distance@paper", "reaching_distance", "files_crossed",
            "comment_distance", "comment_distance@paper", "comment_distance_any",
            "cyclomatic", "block_lines",
        ),
        crossed=(
            ("language", "mode"),
            ("language", "mode", "constructs"),
            ("language", "mode", "reference_distance"),
            ("language", "mode", "comment_distance"),
            ("language", "mode", "reference_distance@paper"),
            ("language", "mode", "comment_distance@paper"),
            ("constructs", "reference_distance"),
            ("reference_distance", "comment_distance"),
            ("mode", "files_crossed"),
            ("mode", "cyclomatic"),
            ("mode", "block_lines"),
        ),
        paper_bounds={
            "reference_distance": {name: rules.range_bounds for name, rules in paper_rules().languages.items()},
            "comment_distance": {"*": (paper_rules().comments.bound,)},
            "comment_distance_any": {"*": (paper_rules().comments.bound,)},
        },
        main_labels=("language", "mode"),
        heat_maps=(("language", "mode", "constructs"), ("constructs", "reference_distance")),
        paper_intervals=True,
        paper_tables=(
            PaperTable("Overall (the paper's Table 2, in form)", ("language", "mode"), printed=("table_2",),
                       printed_for=RELEASED),
            PaperTable(
                "By distance to the furthest referenced object (Table 3, in form)",
                ("language", "mode", "reference_distance@paper"), models_as_columns=True,
                printed=("table_3",), printed_for=RELEASED,
            ),
            PaperTable(
                "By distance to the nearest comment (Table 4, in form)",
                ("language", "mode", "comment_distance@paper"), models_as_columns=True,
                printed=("table_4",), printed_for=RELEASED,
            ),
            PaperTable("By construct (Tables 5 to 7, in form)", ("language", "mode", "constructs"),
                       printed=("table_5", "table_6", "table_7"), printed_for=RELEASED),
        ),
    )  # fmt: skip

    profile_rules = SimCopilotProfile

    contexts = MappingProxyType(dict.fromkeys(CONTEXTS, CONTEXT_VERSION))

    def load(self, source: str) -> ProblemSet:
        """Return the tasks of ``starter``, of the release, or of a folder written by ``caretbench build simcopilot``.

        The release is ``released`` (fetched by ``pull``) or a clone of its repository; ``@repaired`` after it selects
        the repaired copy. The projects are added to the store in the cache.
        """
        if source == "starter":
            from caretbench.suites.simcopilot import starter  # detects the commands of tests: set-up of projects

            return ProblemSet.of("starter", starter.load())
        name, variant = split_variant(source)
        root = released_folder() if name == "released" else Path(name)
        if not root.is_dir():
            raise DataError(f"{source}: no such folder; expected starter, released, or a folder of tasks")
        if released.is_released(root) and not (root / "problems.jsonl").exists():
            name = name if name == "released" else root.resolve().name
            suffix = "" if variant == "released" else f"-{variant}"
            return ProblemSet.of(name + suffix, released_problems(root, variant))
        return ProblemSet.of(root.resolve().name, stored_tasks(root))

    def caret_in_context(self, problem: Problem, context: str) -> Caret:
        """Return the caret of a problem with the context of a strategy; each project is read once."""
        splice = file_splice(problem)
        scopes = snapshot_scopes(splice.snapshot, required_file=splice.path)
        if splice.path not in scopes.files:
            raise DataError(f"{problem.id}: {splice.path} cannot be read, so it has no context")
        return build_context(context, problem, scopes).caret

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Return the similarity to the reference, and the syntax fault of the file with the answer."""
        del profile
        [likeness] = similarities([(text, problem.reference)])
        measured = [Measurement("similarity@1", likeness._asdict())]
        if text is not None and isinstance(problem.splice, FileSplice):
            fault = syntax_fault(problem, text)
            measured.append(Measurement("syntax@1", {"parses": float(not fault)}, {"fault": fault}))
        return measured

    def canonical_label(self, name: str, value: str) -> str:
        """Return ``python`` for ``py``, and the mode ``suffix_hidden`` for the paper's word ``completion``."""
        if name == "language":
            return get_language(value).name
        return "suffix_hidden" if (name, value) == ("mode", "completion") else value


SyntaxFault = Literal["", "syntax", "indentation", "truncated"]

_CLOSERS: Final = {"(": ")", "[": "]", "{": "}", "${": "}"}
_BLOCKS: Final = 3
"""Maximum number of blocks around the answer that are closed to detect truncation."""


def syntax_fault(problem: Problem, text: str) -> SyntaxFault:
    """Return the kind of syntax fault that an answer adds to its file, by the parser, without execution.

    The unchanged file may have syntax faults (macros, dialects), so an answer is faulty if the file has more with it:
    ``indentation`` if only the layout is wrong, ``truncated`` if closing the open brackets and blocks at the end of the
    answer repairs it, else ``syntax``; empty if it adds none.

    Raises:
        DataError: the problem's project is not on this machine.
    """
    splice, language = file_splice(problem), problem.caret.language
    before = original_file(splice.snapshot, splice.path)
    allowed = _faults(splice.snapshot, splice.path, language)
    tree = parse(splice.content(before, text), language)
    excess = fault_count(tree, language) - sum(allowed)
    if excess <= 0:
        return ""
    closed = (splice.content(before, answer) for answer in _closed(tree, splice, before, text, language))
    if any(fault_count(parse(content, language), language) <= sum(allowed) for content in closed):
        return "truncated"
    layout = layout_faults(tree, language) - allowed[1]
    return "indentation" if layout >= excess else "syntax"


@lru_cache(maxsize=1024)
def _faults(snapshot: str, path: str, language: str) -> tuple[int, int]:
    """Return the number of faults in the unchanged file: other than layout, and of layout."""
    tree = parse(original_file(snapshot, path), language)
    layout = layout_faults(tree, language)
    return fault_count(tree, language) - layout, layout


def _closed(tree: tree_sitter.Tree, splice: FileSplice, before: bytes, text: str, language: str) -> Iterator[str]:
    """Yield the answer with its open brackets closed at the end, then also with blocks around it closed."""
    body = text.rstrip()
    if language == "python":
        if body.endswith(":"):
            last = body.split("\n")[-1]
            yield f"{body}\n{last[: len(last) - len(last.lstrip())]}    pass\n"
        extra: tuple[str, ...] = ("",)
    else:
        extra = tuple("\n}" * number for number in range(_BLOCKS + 1))
    end = len(splice.content(before, text)) - (len(before) - splice.end)
    brackets = [_CLOSERS[bracket] for bracket in reversed(_left_open(tree, splice.start, end))]
    closed = "".join(brackets)
    ended = closed.replace("}", ";}") + ";"
    tail = text[len(body) :] or "\n"
    for more in extra:
        if closed or more:
            yield body + closed + more + tail
        if language != "python":
            yield body + ended + more + tail


def _left_open(tree: tree_sitter.Tree, start: int, end: int) -> list[str]:
    """Return the unclosed brackets between two byte offsets, outermost first."""
    stack: list[str] = []
    for node in walk(tree.root_node, start, end):
        if node.children:
            continue
        if node.type in _CLOSERS and not node.is_missing:
            stack.append(node.type)
        elif stack and not node.is_missing and node.type == _CLOSERS[stack[-1]]:
            stack.pop()
    return stack
