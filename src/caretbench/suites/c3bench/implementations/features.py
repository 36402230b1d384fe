"""Features of an implementation, which predicates require or forbid, by the queries ``languages/*/features.scm``.

The query says which nodes are which features (``languages/javascript/features.scm`` explains its words); this module
adds what no pattern can say: numbers, depths of loops, recursion, and the values of names.

Simple features are kinds of nodes: ``for``, ``while``, ``comprehension``, ``lambda``, ``try``, ``if``, ``membership``
and others. Others contain a name: ``call:NAME``, ``call:NAME/N`` (with N arguments), ``call:NAME(LITERAL)`` (its first
argument), ``name:NAME`` (assigned), ``operator:SIGN`` (``bitor`` for ``|``), ``function:NAME``. ``in_loop:FEATURE`` is
a call, a loop, ``break``, ``return`` or ``delete`` in a loop, ``updated_in_loop:NAME`` a name that a loop changes.
``recursion`` is a call of a function in its own body, ``returns:N`` the number of return statements (nested functions
excluded), ``loop_depth:N`` a loop in ``N - 1`` others, clauses of comprehensions among them, ``sorts:N`` at least N
calls that sort, ``return_at_end`` that the last statement is a ``return``. ``fills:KIND`` and ``fills:KIND:NAME`` are a
container that is changed later, ``bound:NAME:FEATURE`` is a feature of the value of a name.

In Python alone: ``handler:NAME``, ``import:NAME``, ``base:NAME``, ``decorator:NAME``, ``keyword:NAME`` and
``keyword:NAME=VALUE``, ``subscript:TEXT`` (by a constant), ``constant:NAME`` (assigned one), ``matches:NAME`` (the
subject of ``match`` has it), ``lambda_argument:FUNCTION`` (a lambda, also by its name, is an argument of a call) and
``returned:FEATURE`` (of what is returned). Shapes are ``else``, ``early_return`` (an ``if`` that returns, without
``else``, before other statements), ``branches_return`` (an ``if`` of which a branch and ``else`` return or raise) and
``picks_smallest`` (a loop that compares, without changing an item, in a loop).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import tree_sitter

from caretbench.languages import languages
from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.parser import Captures, encode, matches, parse, python_module, query_text, text_of

ANY_NAME = "*"
"""Name in ``bound:NAME:FEATURE`` and ``matches:NAME`` that stands for any."""
_MAX_LOOPS = 6
"""Depth of loops up to which features count it."""
_IN_LOOPS = ("return", "delete", "break", "for", "while")

Node = tree_sitter.Node


FoundFeatures = frozenset[str]
"""Features of a text."""


class FeatureRule(NamedTuple):
    """Predicate on the features of an implementation: all of ``requires``, none of ``forbids``.

    A required ``A|B`` is one of several features.
    """

    requires: tuple[str, ...]
    forbids: tuple[str, ...]

    def holds(self, features: FoundFeatures, left: FoundFeatures | None = None) -> bool:
        """Return whether the features satisfy the rule."""
        return not self.faults(features, left)

    def faults(self, features: FoundFeatures, left: FoundFeatures | None = None) -> list[str]:
        """Return a line for each feature that is missing or forbidden, or idle: not ``left`` of a reduced answer."""
        # Numbers are those of the whole: without an idle return, an answer with two would be one with a single return.
        effective = {name for name in features if left is None or name in left or name.startswith("returns:")}
        missing = [name for name in self.requires if effective.isdisjoint(name.split("|"))]
        idle = [("no " if features.isdisjoint(name.split("|")) else "idle ") + name for name in missing]
        return [
            *(phrase.replace("|", " or ") for phrase in idle),
            *(f"has {name}" for name in self.forbids if name in features),
        ]


def has_features(language: str) -> bool:
    """Return whether implementations in a language have features."""
    return language in languages() and query_text(language, "features") is not None


def found_features(prefix: str, text: str, suffix: str, language: str) -> FoundFeatures | None:
    """Return the features of a text in its program; None if Python does not parse it, or its language has none."""
    if not has_features(language) or (language == "python" and python_module(prefix + text + suffix) is None):
        return None
    parts = TreeParts.of(prefix, text, suffix, language)
    features = set(_features(parts, language))
    if parts.returns_last(text):
        features.add("return_at_end")
    features |= {
        # `from bisect import bisect_left as find`: calls of `find` are calls of `bisect_left`, too.
        re.sub(rf"call:{text_of(other)}\b", f"call:{text_of(own)}", feature)
        for other, own in zip(parts.span.get("alias", ()), parts.span.get("own", ()), strict=True)
        for feature in features
    }
    return frozenset(features)


class TreeParts(NamedTuple):
    """Captures of a program: all of them, those that begin in a span, its calls with arguments, and bound values."""

    whole: Captures
    span: Captures
    calls: list[tuple[Node, Node]]
    values: list[tuple[str, Node]]

    @classmethod
    def of(cls, prefix: str, text: str, suffix: str, language: str) -> TreeParts:
        """Return the captures of ``features.scm`` in a program, and those in the text between prefix and suffix."""
        start, size = len(encode(prefix)), len(encode(text))
        parts = cls({}, {}, [], [])
        nothing: set[int] = set()
        for match in matches(parse(prefix + text + suffix, language).root_node, language, "features"):
            in_span = {
                name: [node for node in nodes if start <= node.start_byte < start + size]
                for name, nodes in match.items()
            }
            nothing.update(node.id for node in in_span.pop("nothing", ()))
            if not in_span.get("inside", True):
                continue
            for name, nodes in match.items():
                parts.whole.setdefault(name, []).extend(nodes)
                if in_span.get(name):
                    parts.span.setdefault(name, []).extend(in_span[name])
            parts._add_values(match, in_span)
        if nothing:
            parts.span["comprehension"] = [node for node in parts.span["comprehension"] if node.id not in nothing]
        return parts

    def _add_values(self, captured: Captures, own: Captures) -> None:
        self.calls.extend((captured["call.name"][0], node) for node in own.get("arguments", ()))
        for value in own.get("value", ()):
            names = [text_of(node) for node in captured.get("bound.name", ())]
            labels = [f"bound:{bound}" for name in names for bound in (name, ANY_NAME)] or ["returned"]
            self.values.extend((label, value) for label in labels)

    def within(self, name: str, node: Node) -> bool:
        """Return whether something else that is captured by a name is within a node of the span."""
        return any(_covers(node, outer) and outer != node for outer in self.span.get(name, ()))

    def returns_last(self, text: str) -> bool:
        """Return whether the last statement of a text is a ``return``."""
        if not self.span.get("return"):
            return False
        last, head = self.span["return"][-1], text.lstrip("\r\n")
        rest = text.rpartition(text_of(last))[2].strip(" \t\r\n;")
        # One in a block is deeper than the first statement; a comment may follow.
        return last.start_point.column == len(head) - len(head.lstrip()) and (not rest or rest.startswith("#"))


def _features(parts: TreeParts, language: str) -> Iterator[str]:
    plain = [*_plain_features(parts), *_call_features(parts, language)]
    yield from (name for name, _ in plain)
    for label, value in parts.values:
        yield from (f"{label}:{name}" for name, node in plain if _covers(value, node))
    yield from _loop_features(parts)
    yield from _filled_containers(parts)
    yield from _shapes(parts)
    sorts = sum(text_of(name) in ("sorted", "sort") for name in parts.span.get("call.name", ()))
    yield from (f"sorts:{number}" for number in range(1, sorts + 1))
    if "matches.name" in parts.span:
        yield f"matches:{ANY_NAME}"
    if _is_recursive(parts):
        yield "recursion"


def _filled_containers(parts: TreeParts) -> Iterator[str]:
    changed = {text_of(node) for node in parts.span.get("changed", ())}
    for name, nodes in parts.span.items():
        kind, _, held = name.partition(".")
        if kind == "filled":
            for node in changed.intersection(map(text_of, nodes)):
                yield from (f"fills:{held}", f"fills:{held}:{node}")


def _shapes(parts: TreeParts) -> Iterator[str]:
    """Yield the number of returns, and the shapes, outside of nested functions."""
    nested = [node for name in ("lambda", "function", "class") for node in parts.span.get(name, ())]
    for name in ("return", *(name for name in parts.span if name.startswith("shape."))):
        count = sum(not any(is_in(node, other) for other in nested) for node in parts.span.get(name, ()))
        if name == "return":
            yield f"returns:{count}"
        elif count:
            yield name.removeprefix("shape.")


def _plain_features(parts: TreeParts) -> Iterator[tuple[str, Node]]:
    """Yield the features of single nodes, and of names."""
    for name, nodes in parts.span.items():
        kind, _, named = name.partition(".")
        if not named and not name.startswith("_"):
            yield from ((kind, node) for node in nodes)
        elif named == "name":
            for node in nodes:
                # `|` divides alternatives.
                text = text_of(node).replace("||", "or").replace("|", "bitor")
                if kind == "augmented":
                    yield from ((f"operator:{text}", node), (f"operator:{text.removesuffix('=')}", node))
                elif kind not in ("updated", "bound"):
                    yield f"{kind}:{text}", node


def _call_features(parts: TreeParts, language: str) -> Iterator[tuple[str, Node]]:
    """Yield the names of calls with their numbers of arguments, and with a first argument that is a literal."""
    kinds = node_kinds(language)
    lambdas = set(map(text_of, parts.span.get("bound.lambda", ())))
    for called, arguments in parts.calls:
        # `sum(x for x in values)` has brackets of its own for neither.
        whole = [arguments] if arguments.type in kinds.generator_expressions else arguments.named_children
        given = [argument for argument in whole if "comment" not in argument.type and argument.type not in kinds.keyed]
        name = f"call:{text_of(called)}"
        yield f"{name}/{len(given)}", called
        if given and given[0].type in kinds.literal_kinds:
            yield f"{name}({_written(given[0], language)})", called
        if any(text_of(argument) in lambdas for argument in given):
            yield f"lambda_argument:{text_of(called)}", called
        for argument in whole:
            if argument.type in kinds.keyed:
                keyword = f"keyword:{_written(argument, language)}"
                yield from ((keyword.partition("=")[0], called), (keyword, called))


def _written(node: Node, language: str) -> str:
    """Return the text of a value; in Python both marks of strings are one."""
    return text_of(node).replace('"', "'") if language == "python" else text_of(node)


def _loop_features(parts: TreeParts) -> Iterator[str]:
    loops = parts.span.get("in.loop", [])
    for loop in loops:
        for kind, feature in (("updated.name", "updated_in_loop"), ("call.name", "in_loop:call")):
            yield from (f"{feature}:{text_of(node)}" for node in parts.span.get(kind, ()) if _covers(loop, node))
        yield from (f"in_loop:{kind}" for kind in _IN_LOOPS if parts.within(kind, loop))
        # A swap in the inner loop is a bubble sort.
        is_inner = any(is_in(loop, other) for other in loops)
        if is_inner and parts.within("compare", loop) and not parts.within("changed", loop):
            yield "picks_smallest"
    # A comprehension is there once for each of its clauses; some loops of Go are `for` and `while`.
    statements = {node for name in ("for", "while") for node in parts.span.get(name, ())}
    nested = [*statements, *parts.span.get("clause", ())]
    depth = max((sum(_covers(other, inner) for other in nested) for inner in nested), default=0)
    yield from (f"loop_depth:{number}" for number in range(1, min(depth, _MAX_LOOPS) + 1))


def _is_recursive(parts: TreeParts) -> bool:
    """Return whether a function, also one around the span, is called in its body within the span."""
    names, bodies = parts.whole.get("function.name", []), parts.whole.get("function.body", [])
    functions = {(text_of(name), body) for name, body in zip(names, bodies, strict=True)}
    calls = parts.span.get("call.name", [])
    return any(text_of(call) == name and is_in(call, body) for call in calls for name, body in functions)


def is_in(node: Node, other: Node) -> bool:
    """Return whether a node is within another one, and smaller."""
    return _covers(other, node) and not _covers(node, other)


def _covers(other: Node, node: Node) -> bool:
    return other.start_byte <= node.start_byte and node.end_byte <= other.end_byte
