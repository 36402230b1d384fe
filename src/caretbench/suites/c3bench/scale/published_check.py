"""Check of scale as the paper words it: the kind of node, and the number of lines. Nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tree_sitter

from caretbench.files import replace_surrogates
from caretbench.suites.c3bench.scale.line_check import count_in_unit
from caretbench.suites.c3bench.scale.parsing.tree_statements import ParsedFile, tree_statements
from caretbench.suites.c3bench.scale.scale_types import ScaleSpecification, ScaleVerdict
from caretbench.suites.c3bench.scale.verifier import require_statements
from caretbench.syntax.parser import LINE_END


def verify_published(
    prefix: str, middle: str, suffix: str, specification: ScaleSpecification | Mapping[str, Any]
) -> ScaleVerdict:
    """Return the verdict of the paper's two checks, by tree-sitter: matching of node types, and length in lines.

    A block needs a node of its kind that begins in the answer (with ``header_in_prefix``: that begins in the prefix and
    contains the answer); a span has one line; lines have their number in their unit. The paper says nothing about text
    after the block, nesting, further statements, or whether the file parses, so none of that counts.

    Raises:
        SpecificationError: a mapping is no specification, or its language is not verified.
    """
    if not isinstance(specification, ScaleSpecification):
        specification = ScaleSpecification.of(specification)
    require_statements(specification.language)
    prefix, middle, suffix = map(replace_surrogates, (prefix, middle, suffix))
    parsed = ParsedFile.of(prefix, middle, suffix, specification.language)
    view = tree_statements(parsed, parse_required=False)
    if not middle.strip():
        return ScaleVerdict(ok=False, parse_ok=view.parse_ok, unfinished=True, reason="the answer is empty")
    kind_ok = _has_kind(parsed, specification) if specification.kind == "block" else None
    wanted = 1 if specification.kind.startswith("span") else specification.n
    count = None
    if specification.kind.startswith("span"):
        count = len(LINE_END.findall(middle.strip("\r\n"))) + 1
    elif wanted is not None:
        count = count_in_unit(view, (len(prefix), len(prefix) + len(middle)), specification.unit, lambda: parsed)
    count_ok = None if wanted is None else count == wanted
    reason = "" if kind_ok is not False else f"no node of kind {specification.node}"
    if count_ok is False and not reason:
        reason = f"{count} lines, not {wanted}"
    return ScaleVerdict(
        ok=not reason, parse_ok=view.parse_ok, kind_ok=kind_ok, count_ok=count_ok, count=count, reason=reason
    )


def _has_kind(parsed: ParsedFile, specification: ScaleSpecification) -> bool:
    """Return whether a node of the kind begins in the answer, or, for a body, contains it."""
    kinds = parsed.table.kinds.get(str(specification.node), ())
    waiting: list[tree_sitter.Node] = [parsed.tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.end_byte <= parsed.start or node.start_byte >= parsed.end:
            continue
        if node.type in kinds and (node.start_byte < parsed.start) is specification.header_in_prefix:
            return True
        waiting.extend(node.children)
    return False
