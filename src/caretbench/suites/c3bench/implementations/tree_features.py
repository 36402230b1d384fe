"""Features of an implementation in a language with a query ``features.scm``, for the same rules as Python's.

The query says which nodes are which features (``languages/javascript/features.scm`` explains its words); this module
adds what no pattern can say: names, depths of loops, and recursion.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import tree_sitter

from caretbench.languages import languages
from caretbench.languages.node_kinds import node_kinds
from caretbench.suites.c3bench.implementations.features import FoundFeatures, features_of_text
from caretbench.syntax.parser import Captures, encode, matches, parse, query_text

_MAX_LOOPS = 6
"""Depth of loops up to which features count it."""


class TreeParts(NamedTuple):
    """Captures of a program: all of them, those that begin in a span, and its calls with their arguments."""

    whole: Captures
    span: Captures
    calls: list[tuple[tree_sitter.Node, tree_sitter.Node]]


def has_features(language: str) -> bool:
    """Return whether implementations in a language have features."""
    return language == "python" or (language in languages() and query_text(language, "features") is not None)


def found_features(prefix: str, text: str, suffix: str, language: str) -> FoundFeatures | None:
    """Return the features of a text in its program; None if that does not parse, or its language has none."""
    if language == "python":
        return features_of_text(prefix + text + suffix, len(prefix), len(prefix) + len(text))
    if not has_features(language):
        return None
    found = frozenset(_features(tree_parts(prefix, text, suffix, language), language))
    return FoundFeatures(found, found)


def tree_parts(prefix: str, text: str, suffix: str, language: str) -> TreeParts:
    """Return the captures of ``features.scm`` in a program, and those in the text between prefix and suffix."""
    start, size = len(encode(prefix)), len(encode(text))
    parts = TreeParts({}, {}, [])
    for found in matches(parse(prefix + text + suffix, language).root_node, language, "features"):
        for name, nodes in found.items():
            parts.whole.setdefault(name, []).extend(nodes)
            own = [node for node in nodes if start <= node.start_byte < start + size]
            if own:
                parts.span.setdefault(name, []).extend(own)
                if name == "arguments":
                    parts.calls.append((found["call.name"][0], own[0]))
    return parts


def text_of_node(node: tree_sitter.Node) -> str:
    """Return the text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def _features(parts: TreeParts, language: str) -> Iterator[str]:
    loops = parts.span.get("in.loop", [])
    for name, nodes in parts.span.items():
        kind, _, named = name.partition(".")
        if not named and not name.startswith("_"):
            yield kind
        elif named == "name":
            for node in nodes:
                # `|` divides alternatives.
                text = text_of_node(node).replace("||", "or").replace("|", "bitor")
                yield from _named_features(kind, text, any(is_in(node, loop) for loop in loops))
    yield from _call_features(parts, language)
    if any(is_in(node, loop) for node in parts.span.get("return", ()) for loop in loops):
        yield "in_loop:return"
    statements = [*parts.span.get("for", ()), *parts.span.get("while", ())]
    depth = max((sum(is_in(one, other) for other in statements) for one in statements), default=-1) + 1
    yield from (f"loop_depth:{number}" for number in range(1, min(depth, _MAX_LOOPS) + 1))
    lambdas = parts.span.get("lambda", [])
    own = [one for one in parts.span.get("return", ()) if not any(is_in(one, other) for other in lambdas)]
    yield f"returns:{len(own)}"
    if _is_recursive(parts):
        yield "recursion"


def _named_features(kind: str, text: str, in_loop: bool) -> Iterator[str]:
    if kind == "updated":
        if in_loop:
            yield f"updated_in_loop:{text}"
    elif kind == "augmented":
        yield from (f"operator:{text}", f"operator:{text.removesuffix('=')}")
    else:
        yield f"{kind}:{text}"
        if kind == "call" and in_loop:
            yield f"in_loop:call:{text}"


def _call_features(parts: TreeParts, language: str) -> Iterator[str]:
    """Yield the names of calls with their numbers of arguments, and with a first argument that is a literal."""
    literals = node_kinds(language).literal_kinds
    for called, arguments in parts.calls:
        given = [one for one in arguments.named_children if "comment" not in one.type]
        name = f"call:{text_of_node(called)}"
        yield f"{name}/{len(given)}"
        if given and given[0].type in literals:
            yield f"{name}({text_of_node(given[0])})"


def _is_recursive(parts: TreeParts) -> bool:
    """Return whether a function, also one around the span, is called in its body within the span."""
    names, bodies = parts.whole.get("function.name", []), parts.whole.get("function.body", [])
    functions = {(text_of_node(name), body) for name, body in zip(names, bodies, strict=True)}
    calls = parts.span.get("call.name", [])
    return any(text_of_node(call) == name and is_in(call, body) for call in calls for name, body in functions)


def is_in(node: tree_sitter.Node, other: tree_sitter.Node) -> bool:
    """Return whether a node is within another one, and smaller."""
    inside = other.start_byte <= node.start_byte and node.end_byte <= other.end_byte
    return inside and (node.start_byte, node.end_byte) != (other.start_byte, other.end_byte)
