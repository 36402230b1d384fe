"""Reduction of a Python answer: what is left of it while its tests pass.

Statements are deleted, blocks unwrapped, and calls replaced by their arguments. An answer to another instruction, with
lines that only look like this one's, loses these lines.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
import textwrap
from collections.abc import Callable, Generator, Iterator, Sequence

from caretbench.suites.c3bench.implementations.rewrite import contains, loaded, nodes_of, stored, text_of
from caretbench.syntax.parser import python_module

_BODIES = ("body", "orelse", "finalbody")
_MAX_NODES = 800
"""Maximum number of nodes of a reduced answer, about 60 lines: each edit copies the whole. The starter set has 84."""
_BUILTINS = frozenset(dir(builtins))
_PURE = frozenset({"abs", "all", "any", "len", "max", "min", "range", "sorted", "sum"})
"""Functions that change none of their arguments."""
_PURE_METHODS = frozenset({"count", "get", "index", "items", "keys", "values"})
"""Methods that change neither their object nor their arguments."""


# Words of features that are not named by one; of others, the name is the word: `call:sum`, `updated_in_loop:ways`.
_WORDS = {
    "comprehension": ["for"], "list_comprehension": ["for"], "set_comprehension": ["for"],
    "dict_comprehension": ["for"],
    "loop_depth": ["for", "while"], "picks_smallest": ["for", "while"], "sorts": ["sort", "sorted"],
    "lambda_tuple": ["lambda"], "yield_from": ["yield"], "return_at_end": ["return"], "early_return": ["return"],
    "branches_return": ["return"], "returns": ["return"], "membership": ["in"],
}  # fmt: skip


_NO_HEAD = r"(?:return|yield|await|in|not|and|or|else|if|is|new|case|throw)\b"


class PredicateWords:
    """Words by which a predicate's features occur in an answer, and names that bind what they need.

    An edit of a part without such a word changes no verdict: of the 1,310 programs that the starter set's references
    were reduced to, 910 were run for nothing.
    """

    def __init__(self, requires: Sequence[str], prefix: str, text: str) -> None:
        self._words: set[str] = set()
        self._all = False
        for name in requires:
            own = {word for one in name.split("|") for word in _words_of(one, prefix, text) if _has(word, text)}
            self._words |= own
            # A feature without a word, a regular expression for example, may be shown by any part.
            self._all = self._all or not own

    def touches(self, part: str) -> bool:
        """Return whether an edit of a part may change the verdict."""
        return self._all or any(_has(word, part) for word in self._words)

    def add(self, names: set[str]) -> bool:
        """Add the names without which a part cannot be edited; return whether one is new."""
        is_new = not self._all and not names <= self._words
        self._words |= names
        return is_new


def _words_of(feature: str, prefix: str, text: str) -> Sequence[str]:
    kind = feature.partition(":")[0]
    if kind == "recursion":
        # A function's name follows another word where it is defined: `def find`, `int find`, `const find`.
        called = set(re.findall(r"(?<![\w.])([^\W\d]\w*)\s*\(", text))
        return [one for one in called if re.search(rf"\b(?!{_NO_HEAD})\w+[\])>*]*\s+{one}\b", prefix + text)]
    last = feature.rpartition(":")[2]
    if kind == "bound":
        return [feature.split(":")[1], last]
    return _WORDS.get(last) or _WORDS.get(kind) or re.findall(r"[^\W\d]\w*", last) or [last]


def _has(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w){word}(?!\w)", text) is not None if word.isidentifier() else word in text


def reduced_text(
    prefix: str, text: str, suffix: str, words: PredicateWords, holds: Callable[[str], bool]
) -> Generator[str, bool | None, str | None]:
    """Yield shorter answers; each is sent whether it passes, or None to end.

    Texts that read a name which they do not bind, and loops that cannot end, are not tried: of 604 runs of the starter
    set's references 233 ended with a NameError or the like, and 15 used 23 of 38 s of CPU.

    Args:
        prefix: Text before the answer.
        text: Answer.
        suffix: Text after it.
        words: Words of the predicate; other parts are not edited.
        holds: Return whether an answer satisfies the predicate; the first that does not, and passes, ends the search.

    Returns:
        The shortest answer that passed; None if it was ended, or if the text is no list of statements, or too long.
    """
    line = prefix.rpartition("\n")[2]
    module = _statements(line, text)
    if module is None:
        return None
    margin = _margin(line + text)
    known = _BUILTINS | _unbound(module) | _names_around(prefix, text, suffix)
    seen, place, more = {text_of(module.body)}, 0, False
    endless = _endless(module)
    while (edited := _edited(module, place)) is not None or more:
        if edited is None:
            # Where the last use of a name has gone, its assignment may go, too.
            place, more = 0, False
            continue
        changed, part, is_outer = edited
        place += 1
        # What only looks like the instruction has statements of its own, of which some lack its words.
        if not (is_outer or words.touches(part)) or not _can_end(changed, endless):
            continue
        plain = text_of(changed.body)
        shorter = textwrap.indent(plain, margin).removeprefix(line) + "\n"
        if plain in seen or python_module(prefix + shorter + suffix) is None:
            continue
        if unbound := _unbound(changed) - known:
            # What uses the name must go first.
            more = (not holds(shorter) and words.add(unbound)) or more
            continue
        seen.add(plain)
        passes = yield shorter
        if passes is None:
            return None
        if passes:
            if not holds(shorter):
                return shorter
            module, text, more, endless = changed, shorter, True, _endless(changed)
            # Earlier places failed; those after this one have moved up.
            place -= 1
    return text


def _margin(text: str) -> str:
    """Return the indentation of the first line that is not blank."""
    first = next(one for one in text.split("\n") if one.strip())
    return first[: len(first) - len(first.lstrip())]


def _statements(line: str, text: str) -> ast.Module | None:
    """Return the statements of a text whose first line begins with ``line``; None if it is none, or too long."""
    module = None if line.strip() else python_module(textwrap.dedent(line + text))
    fits = module is not None and module.body and sum(1 for _ in ast.walk(module)) <= _MAX_NODES
    return module if fits else None


def _edited(module: ast.Module, place: int) -> tuple[ast.Module, str, bool] | None:
    """Return a copy of a module with one edit made, the text of the part, and whether it is an outer statement.

    None: there are not so many edits.
    """
    changed = copy.deepcopy(module)
    for number, (target, field, index, new) in enumerate(_edits(changed)):
        if number < place:
            continue
        part = getattr(target, field)
        text = ast.unparse(part if index is None else part[index])
        if index is None:
            setattr(target, field, new[0])
        else:
            part[index : index + 1] = new
            if not part and field == "body" and not isinstance(target, ast.Module):
                part.append(ast.Pass())
        return changed, text, target is changed and not new
    return None


_Edit = tuple[ast.AST, str, int | None, Sequence[ast.AST]]
"""Node, field, index in a list of the field, and what takes the place of the part."""


def _edits(module: ast.Module) -> Iterator[_Edit]:
    """Yield the possible edits: outer statements first, since with one of them all in it goes."""
    steering = _steering(module)
    blocks = [
        (node, field, index, statement)
        for node in ast.walk(module)
        for field in _BODIES
        if isinstance(statements := getattr(node, field, None), list)
        for index, statement in enumerate(statements)
        # Without its `break` a search finds the same, and right answers with a flag would lose it.
        if isinstance(statement, ast.stmt) and not isinstance(statement, ast.Pass | ast.Break | ast.Continue)
        if statement not in steering
    ]
    yield from ((node, field, index, ()) for node, field, index, _ in blocks)
    for node, field, index, statement in blocks:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            is_last = index + 1 == len(getattr(node, field))
            yield from (
                (node, field, index, inner) for name in _BODIES if (inner := _unwrapped(statement, name, is_last))
            )
    yield from _smaller_expressions(module, steering)


def _smaller_expressions(module: ast.Module, steering: set[ast.AST]) -> Iterator[_Edit]:
    """Yield the edits that put an argument in the place of a call, or a value in that of a conditional expression."""
    for node in ast.walk(module):
        for field, value in ast.iter_fields(node):
            parts = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            for index, part in parts:
                if part not in steering:
                    yield from ((node, field, index, [new]) for new in _smaller(part))


def _steering(module: ast.Module) -> set[ast.AST]:
    """Return the parts of ``while`` loops by which these end: changes of the names that they test, and tests.

    Of 19 s of CPU for the starter set's references in Python, 14 were 15 programs that did not end.
    """
    steering: set[ast.AST] = set()
    for loop in (one for one in ast.walk(module) if isinstance(one, ast.While)):
        inner = [one for statement in loop.body for one in ast.walk(statement)]
        tests = [loop.test, *(one.test for one in inner if isinstance(one, ast.If))]
        names = loaded(tests) - _PURE
        calls = {one for one in inner if isinstance(one, ast.Call) and _may_change(one, names)}
        steering |= calls | {one for one in inner if isinstance(one, ast.If)}
        steering |= {
            one for one in inner
            if isinstance(one, ast.stmt) and not hasattr(one, "body")
            and (_changed_names([one]) & names or calls.intersection(ast.walk(one)))
        }  # fmt: skip
    return steering


def _unwrapped(block: ast.stmt, field: str, is_last: bool) -> list[ast.stmt]:
    """Return the statements of a block; what leaves a loop goes with it, and no return may come before others."""
    inner = getattr(block, field, None) or []
    is_loop = isinstance(block, ast.For | ast.AsyncFor | ast.While)
    left = [one for one in inner if not (is_loop and isinstance(one, ast.Break | ast.Continue))]
    return [] if left and isinstance(left[-1], ast.Return | ast.Raise) and not is_last else left


def _smaller(part: object) -> Sequence[ast.expr]:
    match part:
        case ast.Call(args=arguments):
            return [one for one in arguments if not isinstance(one, ast.Starred)]
        case ast.IfExp(body=first, orelse=second):
            return [first, second]
    return []


def _bound(node: ast.AST) -> set[str]:
    """Return the names that a node binds, without those in it."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return {name}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return {name}
        case ast.MatchMapping(rest=str(name)):
            return {name}
        case ast.alias(name=name, asname=other):
            return {other or name.partition(".")[0]}
    return set()


def _unbound(module: ast.Module) -> set[str]:
    """Return the names that a module reads and binds nowhere; ``+=`` binds none."""
    augmented = {one.target for one in ast.walk(module) if isinstance(one, ast.AugAssign)}
    bound = {name for node in ast.walk(module) if node not in augmented for name in _bound(node)}
    return (loaded(module) | {one.id for one in augmented if isinstance(one, ast.Name)}) - bound


def _names_around(prefix: str, text: str, suffix: str) -> set[str]:
    """Return the names that are bound around a text: in its module, and in the statement of the module that has it."""
    module = python_module(prefix + text + suffix)
    lines = range(prefix.count("\n") + 1, (prefix + text.rstrip("\n")).count("\n") + 2)
    names: set[str] = set()
    for statement in module.body if module else ():
        around = statement.lineno in lines or statement.lineno < lines[0] <= (statement.end_lineno or 0)
        is_scope = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for node in ast.walk(statement) if around or not is_scope else [statement]:
            if getattr(node, "lineno", 0) not in lines:
                names |= _bound(node)
    return names


def _can_end(module: ast.Module, endless: int) -> bool:
    """Return whether a module contains something, and has at most a number of endless loops."""
    return bool(module.body) and _endless(module) <= endless


def _endless(module: ast.Module) -> int:
    """Return the number of ``while`` loops that change nothing of their condition and are not left."""
    loops = (one for one in ast.walk(module) if isinstance(one, ast.While))
    return sum(
        not _changed_names(one.body) & (names := loaded(one.test) - _PURE)
        and not contains(one.body, ast.Break, ast.Return, ast.Raise)
        and not any(_may_change(call, names) for call in ast.walk(one) if isinstance(call, ast.Call))
        for one in loops
    )


def _changed_names(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that are assigned, and those of which an item or an attribute is."""
    parts = (one for one in nodes_of(body) if isinstance(one, ast.Attribute | ast.Subscript))
    return stored(body) | {name for one in parts if not isinstance(one.ctx, ast.Load) for name in loaded(one.value)}


def _may_change(call: ast.Call, names: set[str]) -> bool:
    """Return whether a call may change the value of one of the names: it is made on one, or is given one."""
    match call.func:
        case ast.Name(id=name) if name in _PURE:
            return False
        case ast.Attribute(attr=name) if name in _PURE_METHODS:
            return False
    # The value of an expression is another object.
    given = [one for one in call.args if not isinstance(one, ast.BinOp | ast.Compare | ast.Call)]
    return not names or bool(loaded([call.func, *given, *(one.value for one in call.keywords)]) & names)
