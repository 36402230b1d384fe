"""Reduction of a Python answer: what is left of it while its tests pass.

Statements are deleted, blocks unwrapped, and calls replaced by their arguments. An answer to another instruction, with
lines that only look like this one's, loses these lines.
"""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Generator, Iterator, Sequence

from caretbench.suites.c3bench.implementations.rewrite import contains, loaded, stored, text_of
from caretbench.syntax.parser import python_module

_BODIES = ("body", "orelse", "finalbody")


def reduced_text(prefix: str, text: str, suffix: str) -> Generator[str, bool | None, str | None]:
    """Yield shorter answers; each is sent whether it passes, or None to end.

    Returns:
        The shortest answer that passed; None if it was ended, or if the text is no list of statements.
    """
    line = prefix.rpartition("\n")[2]
    body = textwrap.dedent(line + text)
    module = None if line.strip() else python_module(body)
    if module is None or not module.body:
        return None
    margin = next(one for one in (line + text).split("\n") if one.strip())
    margin = margin[: len(margin) - len(margin.lstrip())]
    seen, place = {text_of(module.body)}, 0
    while (changed := _edited(module, place)) is not None:
        place += 1
        plain = text_of(changed.body)
        if plain in seen or not changed.body or _never_ends(changed):
            continue
        seen.add(plain)
        shorter = textwrap.indent(plain, margin).removeprefix(line) + "\n"
        if python_module(prefix + shorter + suffix) is None:
            continue
        passes = yield shorter
        if passes is None:
            return None
        if passes:
            module, text = changed, shorter
            # Earlier places failed; those after this one have moved up.
            place -= 1
    return text


def _edited(module: ast.Module, place: int) -> ast.Module | None:
    """Return a copy of a module with one edit made; None if there are not so many."""
    changed = copy.deepcopy(module)
    for number, edit in enumerate(_edits(changed)):
        if number == place:
            target, field, index, new = edit
            part = getattr(target, field)
            if index is None:
                setattr(target, field, new[0])
            else:
                part[index : index + 1] = new
                if not part and field == "body" and not isinstance(target, ast.Module):
                    part.append(ast.Pass())
            return changed
    return None


_Edit = tuple[ast.AST, str, int | None, Sequence[ast.AST]]
"""Node, field, index in a list of the field, and what takes the place of the part."""


def _edits(module: ast.Module) -> Iterator[_Edit]:
    """Yield the possible edits: outer statements first, since with one of them all in it goes."""
    blocks = [
        (node, field, index, one)
        for node in ast.walk(module)
        for field in _BODIES
        if isinstance(statements := getattr(node, field, None), list)
        for index, one in enumerate(statements)
        # Without its `break` a search finds the same, and right answers with a flag would lose it.
        if isinstance(one, ast.stmt) and not isinstance(one, ast.Pass | ast.Break | ast.Continue)
    ]
    yield from ((node, field, index, ()) for node, field, index, _ in blocks)
    for node, field, index, one in blocks:
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from ((node, field, index, inner) for name in _BODIES if (inner := _unwrapped(one, name)))
    for node in ast.walk(module):
        for field, value in ast.iter_fields(node):
            parts = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            yield from ((node, field, index, [new]) for index, part in parts for new in _smaller(part))


def _unwrapped(block: ast.stmt, field: str) -> list[ast.stmt]:
    """Return the statements of a block; what leaves a loop goes with it."""
    inner = getattr(block, field, None) or []
    is_loop = isinstance(block, ast.For | ast.AsyncFor | ast.While)
    return [one for one in inner if not (is_loop and isinstance(one, ast.Break | ast.Continue))]


def _smaller(part: object) -> Sequence[ast.expr]:
    match part:
        case ast.Call(args=arguments):
            return [one for one in arguments if not isinstance(one, ast.Starred)]
        case ast.IfExp(body=first, orelse=second):
            return [first, second]
    return []


def _never_ends(module: ast.Module) -> bool:
    """Return whether a ``while`` loop changes nothing of its condition and is not left: a run would cost its limit."""
    loops = (one for one in ast.walk(module) if isinstance(one, ast.While))
    kept = (one for one in loops if not stored(one.body) & loaded(one.test))
    return any(not contains(one.body, ast.Break, ast.Return, ast.Raise, ast.Call) for one in kept)
