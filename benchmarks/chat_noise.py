"""Count the answers with the noise of chat models that a truncation policy restores, by language and kind of noise.

Usage: python benchmarks/chat_noise.py FOLDER … [--policy block] [--limit 60] [--seed 0] [--show KIND]

The answers are statements, blocks, conditions and ends of lines of the sources in the folders, and the references of
the starter sets (``starter`` as a folder), with the suffix shown and hidden. Each gets 36 kinds of noise. An answer is
restored if the program with it has the tokens and the tree of the one with the reference.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import tree_sitter

from caretbench.extraction import get_policy
from caretbench.languages import get_language
from caretbench.languages.node_kinds import node_kinds
from caretbench.problem import Caret, FileSplice
from caretbench.projects.answer_requests import original_file
from caretbench.projects.file_spans import visible_text
from caretbench.suites import load_suite
from caretbench.syntax import language_of
from caretbench.syntax.parser import encode, is_well_formed_text, parse, python_module

STARTERS = (("simcopilot", "starter"), ("devbench", "starter"), ("codevbench", "starter"))
BEFORE = (
    "Here is the completed code:", "Sure! The missing part of the function is below.", "You need to add these lines:",
    "To finish this, we have to handle every item and keep the result.", "Insert the following at the cursor:",
    "The function should behave like this", "Looking at the surrounding code, it needs the part that is missing.",
)  # fmt: skip
AFTER = (
    "This completes the function.", "The code above handles the remaining cases, and returns the result as expected.",
    "Explanation: the loop visits each item once.", "Let me know if you need anything else!",
    "Note that the value is checked before it is used.", "**How it works**\n\n1. It reads the value.\n2. It stores it.",
    "I kept the style of the code that you sent",
)  # fmt: skip


class Case(NamedTuple):
    """A right answer at its caret. ``rest`` is the text after it, also where the suffix is hidden."""

    name: str
    language: str
    prefix: str
    reference: str
    rest: str
    hidden: bool

    @property
    def caret(self) -> Caret:
        """Shown text."""
        return Caret(language=self.language, prefix=self.prefix, suffix="" if self.hidden else self.rest)

    @property
    def line(self) -> str:
        """Part of the caret's line before the caret."""
        return self.prefix.rpartition("\n")[2]


def noises(case: Case, seed: int = 0) -> dict[str, str]:
    """Return the noisy texts of a right answer by kind of noise; kinds that do not apply to it are absent."""
    made = _Noise(case, random.Random(f"{seed} {case.name}"))  # noqa: S311  a sample of phrases
    found = {kind: make(made) for kind, make in KINDS.items()}
    return {kind: text for kind, text in found.items() if text is not None and text != case.reference}


class _Noise:
    def __init__(self, case: Case, draw: random.Random) -> None:
        self.case, self.text = case, case.reference
        self.before, self.after = draw.choice(BEFORE), draw.choice(AFTER)
        self.tag = get_language(case.language).fence
        lines = case.prefix.split("\n")[:-1]
        self.above = [line for line in lines if line.strip()]
        self.below = [line for line in case.rest.split("\n") if line.strip()]
        self.whole = case.line + case.reference
        margins = [_margin(line) for line in case.reference.split("\n")[1:] if line.strip()]
        self.inner = min(margins, default=0)

    def fenced(self, text: str, tag: str | None = None) -> str:
        return f"```{self.tag if tag is None else tag}\n{text.rstrip(chr(10))}\n```"

    def prefix_lines(self, count: int) -> str | None:
        return "\n".join([*self.above[-count:], self.whole]) if len(self.above) >= count else None

    def suffix_lines(self, count: int) -> str | None:
        # The end of the answer's last line is no line of its own.
        head, _, rest = self.case.rest.partition("\n")
        below = [line for line in rest.split("\n") if line.strip()][:count]
        if len(below) < count:
            return None
        return "\n".join([self.text.rstrip("\n") + head, *below])

    def moved(self, by: int) -> str | None:
        head, *tail = self.text.split("\n")
        return "\n".join([head, *(_shifted(line, by) for line in tail)]) if self.inner else None

    def dedented(self) -> str | None:
        if self.case.line.strip() or not self.inner:
            return None
        column = len(self.case.line) if self.case.line else _margin(self.text)
        head = self.text.lstrip(" \t")
        return "\n".join([head.split("\n")[0], *(_shifted(line, -column) for line in head.split("\n")[1:])])

    def tabs(self) -> str | None:
        unit = _unit(self.case)
        lines = self.text.split("\n")
        return "\n".join([lines[0], *(_tabbed(line, unit) for line in lines[1:])])


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _shifted(line: str, by: int) -> str:
    if not line.strip():
        return line
    blank = "\t" if line[0] == "\t" else " "
    # Files with tabs move by one tab for two or four blanks.
    by = by if blank == " " or by < 0 else 1
    return blank * max(0, _margin(line) + by) + line.lstrip(" \t")


def _unit(case: Case) -> int:
    steps = [_margin(line) for line in (case.prefix + case.rest).split("\n") if line.startswith(" ") and line.strip()]
    return min((step for step in steps if step >= 2), default=4)


def _tabbed(line: str, unit: int) -> str:
    margin = line[: _margin(line)]
    if "\t" in margin:
        return margin.replace("\t", "    ") + line.lstrip(" \t")
    return "\t" * (len(margin) // unit) + " " * (len(margin) % unit) + line.lstrip(" \t")


def _optional(text: str | None, change: Callable[[str], str]) -> str | None:
    return None if text is None else change(text)


def _line_again(one: _Noise, indent: str = "") -> str | None:
    return indent + one.case.line.lstrip() + one.text if one.case.line.strip() else None


_CLOSER = {"python": ")", "ruby": "\nend"}
_REASON = "<think>\nThe user wants the missing code. I should write `x = 1`?\nNo.\n</think>\n"
KINDS: dict[str, Callable[[_Noise], str | None]] = {
    "fence, tag": lambda one: one.fenced(one.text),
    "fence, no tag": lambda one: one.fenced(one.text, ""),
    "fence, open": lambda one: f"```{one.tag}\n{one.text}",
    "fence, two": lambda one: f"{one.fenced(one.text)}\n\nIt is used like this:\n\n{one.fenced('f(1)')}",
    "fence, reasoning": lambda one: _REASON + one.fenced(one.text),
    "prose before": lambda one: f"{one.before}\n\n{one.text}",
    "prose after": lambda one: f"{one.text}\n\n{one.after}",
    "prose both": lambda one: f"{one.before}\n\n{one.text}\n\n{one.after}",
    "prose before, fence": lambda one: f"{one.before}\n\n{one.fenced(one.text)}",
    "prose after, fence": lambda one: f"{one.fenced(one.text)}\n\n{one.after}",
    "prose both, fence": lambda one: f"{one.before}\n\n{one.fenced(one.text)}\n\n{one.after}",
    "prefix, 1 line": lambda one: one.prefix_lines(1),
    "prefix, 1 line, fence": lambda one: _optional(one.prefix_lines(1), one.fenced),
    "prefix, 3 lines": lambda one: one.prefix_lines(3),
    "prefix, 3 lines, fence": lambda one: _optional(one.prefix_lines(3), one.fenced),
    "suffix, 1 line": lambda one: one.suffix_lines(1),
    "suffix, 1 line, fence": lambda one: _optional(one.suffix_lines(1), one.fenced),
    "suffix, 3 lines": lambda one: one.suffix_lines(3),
    "suffix, 3 lines, fence": lambda one: _optional(one.suffix_lines(3), one.fenced),
    "rest of file": lambda one: one.text + one.case.rest if one.below else None,
    "rest of file, fence": lambda one: one.fenced(one.text + one.case.rest) if one.below else None,
    "caret's line": _line_again,
    "caret's line, fence": lambda one: _optional(_line_again(one), one.fenced),
    "caret's line, indented": lambda one: _line_again(one, one.case.line[: _margin(one.case.line)] or "    "),
    "dedented": lambda one: one.dedented(),
    "dedented, fence": lambda one: _optional(one.dedented(), one.fenced),
    "over-indented by 2": lambda one: one.moved(2),
    "over-indented by 4": lambda one: one.moved(4),
    "first line indented": lambda one: None if one.case.line.strip() else one.whole,
    "first line indented, fence": lambda one: None if one.case.line.strip() else one.fenced(one.whole),
    "tabs": lambda one: one.tabs(),
    "tabs, fence": lambda one: _optional(one.tabs(), one.fenced),
    "CRLF": lambda one: one.text.replace("\n", "\r\n"),
    "line ends before": lambda one: f"\n\n{one.text}",
    "line ends after": lambda one: f"{one.text}\n\n",
    "closing bracket": lambda one: one.text + _CLOSER.get(one.case.language, "\n}"),
}
"""Makers of the noisy texts by kind of noise."""


def program_key(text: str, language: str) -> object:
    """Return what two equal programs share: their tree and their tokens, without comments and blanks."""
    if language == "python":
        module = python_module(text)
        if module is not None:
            import ast

            return ast.dump(module)
    kept: list[str] = []
    open_nodes: list[tree_sitter.Node] = [parse(text, language).root_node]
    comments = node_kinds(language).comments
    while open_nodes:
        node = open_nodes.pop()
        if node.type in comments:
            continue
        if node.child_count == 0:
            word = (node.text or b"").decode("utf-8", "replace")
            if word.strip():
                kept.append(word)
        else:
            kept.append(node.type)
            open_nodes.extend(reversed(node.children))
    return tuple(kept)


def restores(case: Case, text: str) -> bool:
    """Return whether the program with ``text`` is the one with the reference."""
    key = program_key(case.prefix + case.reference + case.rest, case.language)
    return text == case.reference or program_key(case.prefix + text + case.rest, case.language) == key


def starter_cases() -> Iterator[Case]:
    """Yield the references of the starter sets."""
    for suite, source in STARTERS:
        for problem in load_suite(suite).load(source).problems:
            rest = problem.caret.suffix
            if isinstance(problem.splice, FileSplice):
                data = original_file(problem.splice.snapshot, problem.splice.path)
                rest = visible_text(data[problem.splice.end :])
            hidden = bool(rest) and not problem.caret.suffix
            language = get_language(problem.caret.language).name
            yield Case(problem.id, language, problem.caret.prefix, problem.reference, rest, hidden)


def file_cases(path: Path, root: Path) -> Iterator[Case]:
    """Yield answers of a source: statements, ends of blocks, conditions with and without their body, ends of lines."""
    language = language_of(path.name)
    text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    if language is None or len(text) > 60_000 or not is_well_formed_text(text, language):
        return
    data, kinds = encode(text), node_kinds(language)
    open_nodes: list[tree_sitter.Node] = [parse(text, language).root_node]

    def case(kind: str, start: int, end: int, hidden: bool) -> Case:
        name = f"{path.relative_to(root)}:{start}-{end}:{kind}{':hidden' * hidden}"
        parts = (data[:start].decode(), data[start:end].decode(), data[end:].decode())
        return Case(name, language, *parts, hidden)

    while open_nodes:
        node = open_nodes.pop()
        open_nodes.extend(node.children)
        condition = node.child_by_field_name("condition")
        if condition is not None and node.type in kinds.branches | kinds.loops:
            # Within the parentheses where there are some: so mining cuts conditions, too.
            start = condition.start_byte + (data[condition.start_byte :][:1] == b"(")
            yield case("condition", start, condition.end_byte - (start > condition.start_byte), False)
            yield case("construct", start, node.end_byte, False)
            yield case("construct", start, node.end_byte, True)
        if node.type not in kinds.statement_lists | kinds.compound_statements or node.parent is None:
            continue
        statements = [child for child in node.named_children if child.type not in kinds.comments]
        for statement in statements:
            first = data[: statement.start_byte].rpartition(b"\n")[2].strip() == b""
            if not first:
                continue
            yield case("statement", statement.start_byte, statement.end_byte, False)
            yield case("block", statement.start_byte, statements[-1].end_byte, False)
            bracket = next((one for one in (node.children[-1], node.next_sibling) if one and one.type == "}"), None)
            yield case("block", statement.start_byte, (bracket or statements[-1]).end_byte, True)
            line_end = data.find(b"\n", statement.start_byte)
            middle = data.find(b" ", statement.start_byte, min(line_end, statement.end_byte))
            if middle > 0:
                yield case("line", middle + 1, line_end, False)


def sample(cases: Iterable[Case], limit: int, seed: int) -> list[Case]:
    """Return at most ``limit`` cases of each language, drawn at random."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if case.reference.strip() and case.language != "csv":
            groups[case.language].append(case)
    draw = random.Random(seed)  # noqa: S311  a sample
    return [one for _, group in sorted(groups.items()) for one in draw.sample(group, min(limit, len(group)))]


def counts(cases: Iterable[Case], name: str, show: str = "", only: str = "") -> dict[tuple[str, str], list[bool]]:
    """Return, by language and kind of noise, which answers the policy restores."""
    found: dict[tuple[str, str], list[bool]] = defaultdict(list)
    chosen = get_policy(name)
    for case in cases:
        for kind, text in [("none", case.reference), *noises(case).items()]:
            if only and only not in kind:
                continue
            made = chosen.apply(text, case.caret).text
            good = restores(case, made)
            found[case.language, kind].append(good)
            if show == kind and not good:
                sys.stdout.write(
                    f"--- {case.language} {case.name}\n{case.prefix[-200:]}⟦{text[:800]}⟧{case.caret.suffix[:150]}\n"
                    f"=> {made!r:.800}\n"
                )
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--policy", default="block")
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--languages", default="")
    parser.add_argument("--show", default="", help="print the answers with this kind of noise that stay spoiled")
    parser.add_argument("--only", default="", help="only kinds of noise that contain this text")
    given = parser.parse_args()
    cases: list[Case] = []
    for folder in given.folders:
        root = Path(folder)
        paths = () if folder == "starter" else sorted(one for one in root.rglob("*") if one.is_file())
        cases += starter_cases() if folder == "starter" else [c for path in paths for c in file_cases(path, root)]
    wanted = set(given.languages.split(",")) - {""}
    cases = [one for one in cases if not wanted or one.language in wanted]
    found = counts(sample(cases, given.limit, given.seed), given.policy, given.show, given.only)
    languages = sorted({language for language, _ in found})
    sys.stdout.write(f"{'':28s}" + "".join(f"{name:>11.10s}" for name in languages) + "\n")
    for kind in ("none", *KINDS):
        cells = (found.get((language, kind), []) for language in languages)
        shares = (f"{100 * sum(cell) / len(cell):6.0f}/{len(cell):<4d}" if cell else f"{'':11s}" for cell in cells)
        sys.stdout.write(f"{kind:28s}" + "".join(shares) + "\n")
    means = []
    for language in languages:
        cells = [found[language, kind] for kind in KINDS if found.get((language, kind))]
        means.append(sum(sum(cell) / len(cell) for cell in cells) / len(cells))
    sys.stdout.write(f"{'mean':28s}" + "".join(f"{100 * mean:6.1f}     " for mean in means) + "\n")


if __name__ == "__main__":
    main()
