"""Answers with one planted fault each, made from the blocks of real programs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from caretbench.languages import get_language
from caretbench.syntax.analysis_types import SpanIndex
from caretbench.syntax.blocks import Block, find_blocks, statement_lists
from caretbench.syntax.parser import is_well_formed, parse
from caretbench.syntax.source import SourceFile

_BODIES = ("function_body", "if_body", "else_body", "loop_body", "try_body", "with_body")
_GROUPS = {
    "if_statement": "condition", "for_statement": "loop", "enhanced_for_statement": "loop", "for_in_statement": "loop",
    "foreach_statement": "loop", "for_range_loop": "loop", "while_statement": "loop", "try_statement": "exception",
    "return_statement": "statement", "expression_statement": "statement", "local_variable_declaration": "statement",
    "lexical_declaration": "statement", "declaration": "statement", "local_declaration_statement": "statement",
}  # fmt: skip
"""The kind of a statement, by its node; others are not used for answers of another kind."""


class CaretBlock(NamedTuple):
    """A caret before a block of a real program, and the block. ``indent``: the blanks at the start of its line."""

    prefix: str
    reference: str
    suffix: str
    language: str
    indent: str
    group: str
    is_body: bool


Fault = Callable[[CaretBlock, Sequence[CaretBlock], random.Random], str | None]
"""Returns the answer with the fault; None where the block does not allow it."""


def caret_blocks(programs: Iterable[str], language: str) -> Iterator[CaretBlock]:
    """Yield carets before bodies and single statements that begin a line, of programs that parse."""
    suffix = get_language(language).suffix
    for number, program in enumerate(programs):
        tree = parse(program, language)
        if not is_well_formed(tree, language) or not program.isascii():
            continue
        source = SourceFile(f"f{number}{suffix}", program, language)
        groups: dict[tuple[int, int], str] = {}
        nodes = [tree.root_node]
        while nodes:
            node = nodes.pop()
            groups.setdefault((node.start_byte, node.end_byte), _GROUPS.get(node.type, ""))
            nodes += node.children
        inside = [one.span for one in statement_lists(tree.root_node, source.grammar)[1:]]
        seen = set()
        for block in find_blocks(tree.root_node, source, SpanIndex([])):
            if block.content in seen or not any(span.contains(block.content) for span in inside):
                continue
            caret = _caret(program, block, language, groups.get((block.content.start, block.content.end), ""))
            if caret is not None:
                seen.add(block.content)
                yield caret


def _caret(program: str, block: Block, language: str, group: str) -> CaretBlock | None:
    start, end = block.content
    line = program.rfind("\n", 0, start) + 1
    indent = program[line:start]
    if indent.strip() or not program[end:].lstrip(" \t").startswith("\n"):
        return None
    is_body = block.kind in _BODIES
    if not is_body and block.kind != "statement":
        return None
    return CaretBlock(program[:start], program[start:end], program[end:], language, indent, group, is_body)


def within_lines(carets: Sequence[CaretBlock], seed: int) -> Iterator[CaretBlock]:
    """Yield the carets moved behind a token of the first line of their statement; the rest of it is the reference."""
    draw = random.Random(seed)  # noqa: S311  a sample, not a secret
    for caret in carets:
        first = caret.reference.split("\n")[0]
        places = [found.end() for found in re.finditer(r"(?:\w+|[^\w\s])[ ]*", first)][:-1]
        if caret.is_body or not places or any(mark in first for mark in ("//", "#", '"""', "/*")):
            continue
        place = draw.choice(places)
        yield caret._replace(prefix=caret.prefix + caret.reference[:place], reference=caret.reference[place:], group="")


# --- faults -----------------------------------------------------------------------------------------------------


def _shift_all(caret: CaretBlock, _others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    by = draw.choice(("  ", "   ", "    ", "\t"))
    lines = caret.reference.split("\n")
    return by + "\n".join([lines[0], *(by + line if line.strip() else line for line in lines[1:])])


def _shift_one(caret: CaretBlock, _others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    lines = caret.reference.split("\n")
    filled = [number for number in range(1, len(lines)) if lines[number].strip()]
    if not filled:
        return None
    number = draw.choice(filled)
    lines[number] = draw.choice((" ", "  ", "   ")) + lines[number]
    return "\n".join(lines)


def _without_indentation(caret: CaretBlock, _others: Sequence[CaretBlock], _draw: random.Random) -> str | None:
    lines = caret.reference.split("\n")
    return "\n".join(line.lstrip() for line in lines) if any(line[:1].isspace() for line in lines[1:]) else None


def _to_next_block(caret: CaretBlock, _others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    """The block, the end of the block around it, and what follows there."""
    lines = caret.suffix.split("\n")
    margin = len(caret.indent)
    for number, line in enumerate(lines[1:], 1):
        lower = len(line) - len(line.lstrip()) < margin
        if line.strip() and lower and any(map(str.isalnum, line)) and not line.strip().startswith(("#", "//", "/*")):
            return caret.reference + "\n".join(lines[: number + draw.choice((1, 2))])
    return None


def _and_another_block(caret: CaretBlock, others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    """One statement, and a block of another program."""
    if caret.is_body:
        return None
    found = _other(caret, others, draw, ("condition", "loop", "exception"))
    return None if found is None else f"{caret.reference}\n{caret.indent}{found}"


def _cut(caret: CaretBlock, _others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    places = [found.end() for found in re.finditer(r"\w+|[^\w\s]", caret.reference)][:-1]
    return caret.reference[: draw.choice(places)] if len(places) > 1 and _ends_code(caret) else None


def _cut_lines(caret: CaretBlock, _others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    lines = caret.reference.split("\n")
    return "\n".join(lines[: draw.randint(1, len(lines) - 1)]) if len(lines) > 1 and _ends_code(caret) else None


def _ends_code(caret: CaretBlock) -> bool:
    return not any(mark in caret.reference for mark in ("//", "#", "/*"))


def _more_statements(caret: CaretBlock, others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    found = _other(caret, others, draw, ("statement", "condition", "loop"))
    return None if found is None else f"{caret.reference}\n{caret.indent}{found}"


def _twice(caret: CaretBlock, _others: Sequence[CaretBlock], _draw: random.Random) -> str | None:
    return f"{caret.reference}\n{caret.indent}{caret.reference}"


def _prefix_again(caret: CaretBlock, _others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    lines = [line for line in caret.prefix.split("\n")[:-1] if line.strip()][-draw.choice((1, 2, 3)) :]
    if not lines or not any(map(str.isalnum, "".join(lines))) or lines[-1].strip() == caret.reference.split("\n")[0]:
        return None
    return "\n".join([lines[0].lstrip(), *lines[1:], caret.indent + caret.reference])


def _suffix_too(caret: CaretBlock, _others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    lines = [line for line in caret.suffix.split("\n")[1:] if line.strip()][: draw.choice((1, 2, 3))]
    if not lines or not any(map(str.isalnum, "".join(lines))):
        return None
    return "\n".join([caret.reference, *lines])


def _calls(text: str) -> list[re.Match[str]]:
    words = ("if", "for", "while", "switch", "catch", "function", "return", "with", "not", "in", "and", "or", "sizeof")
    found = re.finditer(r"\b([A-Za-z_]\w*)\(([^()\n\"'`]*)\)(?!\s*[{:])", text)
    return [one for one in found if one[1] not in words and _is_call(text[: one.start()].rpartition("\n")[2])]


def _is_call(before: str) -> bool:
    """Whether a name with brackets after this text of its line is a call, not a declaration or a part of a string."""
    in_string = any(before.count(quote) % 2 for quote in "\"'`")
    return not in_string and not re.search(
        r"[\w>]\s+$", re.sub(r"\b(?:return|await|throw|new|in|not|and|or)\s+$", "", before)
    )


def _other_callee(caret: CaretBlock, _others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    found = _calls(caret.reference)
    if not found:
        return None
    one = draw.choice(found)
    return (
        caret.reference[: one.start(1)]
        + draw.choice(("fetchAll", "process_it", "Resolve"))
        + caret.reference[one.end(1) :]
    )


def _other_argument(caret: CaretBlock, _others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    found = [one for one in _calls(caret.reference) if one[2].strip()]
    if not found:
        return None
    one = draw.choice(found)
    given = one[2].split(",")
    changed = draw.choice([",".join(given[:-1]), f"{one[2]}, 17", ",".join(["unknown_value", *given[1:]])])
    return caret.reference[: one.start(2)] + changed + caret.reference[one.end(2) :]


def _another_kind(caret: CaretBlock, others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    kinds = {"condition", "loop", "exception", "statement"} - {caret.group}
    if not caret.group or caret.is_body:
        return None
    return _other(caret, others, draw, tuple(sorted(kinds)))


def _other(caret: CaretBlock, others: Sequence[CaretBlock], draw: random.Random, groups: Sequence[str]) -> str | None:
    """A statement of another program, moved to the caret's column."""
    found = [one for one in others if one.group in groups and not one.is_body and one.prefix[:40] != caret.prefix[:40]]
    if not found:
        return None
    one = draw.choice(found)
    return one.reference.replace("\n" + one.indent, "\n" + caret.indent)


def _something(caret: CaretBlock, others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    """A statement, for a caret at which nothing is due."""
    return None if caret.reference else _other(caret, others, draw, ("statement", "condition", "loop"))


def _nothing(caret: CaretBlock, _others: Sequence[CaretBlock], draw: random.Random) -> str | None:
    return draw.choice(("", " ", "\n", "\n    \n")) if caret.reference else None


PLANTED: Mapping[str, tuple[Fault, ...]] = {
    "wrong_indentation": (_shift_all, _shift_one, _without_indentation),
    "several_blocks": (_to_next_block, _and_another_block),
    "incomplete": (_cut, _cut_lines),
    "over_generation": (_more_statements, _twice),
    "repeats_surroundings": (_prefix_again, _suffix_too),
    "wrong_call": (_other_callee, _other_argument),
    "wrong_block_kind": (_another_kind,),
    "given_when_nothing_due": (_something,),
    "empty_when_due": (_nothing,),
}
"""The faults by the kind that they plant."""


def planted_answers(kind: str, carets: Sequence[CaretBlock], most: int, seed: int) -> Iterator[tuple[CaretBlock, str]]:
    """Yield carets with answers that have a fault of a kind, at most ``most`` for each way to plant it."""
    draw = random.Random(seed)  # noqa: S311  a sample, not a secret
    nothing_due = kind == "given_when_nothing_due"
    for fault in PLANTED[kind]:
        count = 0
        for found in draw.sample(carets, len(carets)):
            # Where nothing is due, what was the reference is in the prefix.
            caret = found._replace(prefix=found.prefix + found.reference, reference="") if nothing_due else found
            answer = fault(caret, carets, draw)
            if answer is not None and answer.strip() != caret.reference.strip():
                yield caret, answer
                count += 1
                if count == most:
                    break
