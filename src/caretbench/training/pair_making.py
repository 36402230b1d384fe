"""Making of training pairs from permissively licensed sources: fill-in-the-middle and instructions, without a model."""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.build.sources.changes.generated_files import is_marked_generated
from caretbench.build.sources.fetching.project_folders import ProjectFolders
from caretbench.build.sources.fetching.source_spec import SourceSpec
from caretbench.build.sources.licences import folder_licence, is_permissive
from caretbench.build.validation.private_texts import private_texts
from caretbench.errors import DataError
from caretbench.files import sha256_text
from caretbench.problem import Provenance
from caretbench.progress import Progress
from caretbench.projects.project import place_fault
from caretbench.projects.settings import project_rules
from caretbench.suites.c3bench.build.build import scale_problem
from caretbench.suites.c3bench.build.checked_functions import SourceText
from caretbench.suites.c3bench.build.scale_middles import ScaleMiddle, proposed_middles
from caretbench.suites.c3bench.build.sources import LANGUAGES as INSTRUCTED
from caretbench.suites.c3bench.implementations.rewrite import EquivalentContext, equivalent_contexts
from caretbench.syntax.parser import CharacterOffsets, fault_count, parse, python_module
from caretbench.syntax.source import language_of
from caretbench.training.pairs import DEFAULT_SHARES, TOKEN, Boundary, TrainingPair

_CHARACTERS: Final = range(200, 60_001)
"""Length of a file: a shorter one has no context, a longer one is data or made by a tool."""
_LINES: Final = range(1, 9)
_BLOCK_LINES: Final = range(2, 31)
_MAX_INSTRUCTED: Final = 20_000
"""Characters of a file with instructions: each block is counted in the whole file, 30 CPU s for one of 60,000."""
_MAX_TRIES: Final = 8
"""Draws for one middle: most lines of a table or a comment are no middle."""
_MAX_FUNCTION_LINES: Final = 30
"""Length of a function that is rewritten: all runs of its statements are tried."""
_HEAD: Final = 3_000
_SPDX: Final = re.compile(r"SPDX-License-Identifier:\s*([\w.+() -]+)")
_MAX_COUNT: Final = 8
"""Pairs of one file that a model is asked for."""


class PairOptions(NamedTuple):
    """Options of a set of pairs: how many a file, the share of each boundary, and the bound of what is shown.

    ``context`` is the maximum of characters of prefix and suffix together; two thirds are before the middle.
    ``by_models``: middles with an instruction are left to models.
    """

    per_file: int = 12
    shares: Mapping[Boundary, float] = DEFAULT_SHARES
    context: int = 8_000
    languages: Sequence[str] = ()
    seed: int = 0
    by_models: bool = False


class Excerpt(NamedTuple):
    """Text of a file, and the whole lines of it that a model sees, which is asked for ``pairs`` pairs."""

    text: str
    language: str
    source: str
    path: str
    licence: str
    shown: str = ""
    pairs: int = 0

    @property
    def id(self) -> str:
        """Identifier of the file, unique in a set."""
        return f"{self.source}/{self.path}"


class SourceReport(NamedTuple):
    """Yield of one source: files and pairs, or the reason why it was refused; files passed over by reason."""

    source: str
    licence: str | None
    files: int = 0
    pairs: int = 0
    refused: str | None = None
    passed_over: Mapping[str, int] = {}


class PairMaker:
    """Maker of pairs; ``reports`` has an entry for each source that was read, ``excerpts`` what is left to models."""

    def __init__(self, options: PairOptions, folders: ProjectFolders | None = None) -> None:
        self.options = options
        self.reports: list[SourceReport] = []
        self.excerpts: list[Excerpt] = []
        self._folders = folders or ProjectFolders()

    def pairs(self, specs: Mapping[str, SourceSpec], progress: Progress) -> Iterator[TrainingPair]:
        """Yield the pairs of sources by name, in order; the same sources give the same pairs."""
        opened = []
        for name, spec in specs.items():
            progress("sources", 1, len(specs), spec.shown)
            source = self._open(name, spec)
            if isinstance(source, SourceReport):
                self.reports.append(source)
            else:
                opened.append(source)
        total = sum(len(source.paths) for source in opened)
        progress("files", 0, total)
        seen = set[str]()
        for source in opened:
            yield from self._of_source(source, seen, lambda name: progress("files", 1, total, name))

    def _open(self, name: str, spec: SourceSpec) -> _Source | SourceReport:
        """Return a source that may be used, or the report that it may not."""
        try:
            folder = self._folders.open(spec)
        except DataError as error:
            return SourceReport(spec.shown, None, refused=str(error).removeprefix(f"{spec.shown}: "))
        root, languages = Path(folder.path), self.options.languages
        licence = folder.licence or folder_licence(root)
        if licence is None or not is_permissive(licence):
            reason = f"{licence} is not known to be permissive" if licence else "no licence file of a known licence"
            return SourceReport(folder.source, licence, refused=reason)
        paths = [
            path
            for path in sorted(root.rglob("*"))
            if path.is_file() and not path.is_symlink()
            if (language := language_of(path.name)) is not None and (not languages or language in languages)
        ]
        # Folders of one name would have pairs of one id; a release has its version.
        shown = f"{folder.name} {folder.revision}" if folder.revision else name
        return _Source(folder.source, shown, root, {root: licence}, paths)

    def _of_source(self, source: _Source, seen: set[str], read: Callable[[str], None]) -> Iterator[TrainingPair]:
        passed_over: Counter[str] = Counter()
        files = pairs = 0
        for path in source.paths:
            read(source.shown)
            file = _read(path, source)
            if isinstance(file, str) or sha256_text(file.text) in seen:
                passed_over[file if isinstance(file, str) else "the same as an earlier file"] += 1
                continue
            seen.add(sha256_text(file.text))
            files += 1
            for pair in self._of_file(file):
                pairs += 1
                yield pair
        licence = source.licences[source.root]
        self.reports.append(SourceReport(source.text, licence, files, pairs, None, dict(passed_over.most_common())))

    def _of_file(self, file: Excerpt) -> Iterator[TrainingPair]:
        text, language = file.text, file.language
        draw = random.Random(f"{self.options.seed} {file.source} {file.path}")  # noqa: S311 - reproducible, no secret
        drawers: Mapping[Boundary, Callable[[random.Random], Middle | None]] = {
            "character": partial(_characters, text),
            "token": partial(_tokens, text),
            "line": partial(_lines, text),
            "block": partial(_block, cache(lambda: list(_blocks(text, language)))),
            "instruction": partial(_instructed, file, cache(lambda: proposed_middles(text, language))),
            "rewrite": _Rewrites(text),
        }
        # C3-Bench has instructions for four languages, and rewrites for one; elsewhere plain middles take their place.
        short = len(text) <= _MAX_INSTRUCTED
        absent = {
            "instruction": not (self.options.by_models or (short and language in INSTRUCTED)),
            "rewrite": not (short and language == "python"),
        }
        names = [name for name, share in self.options.shares.items() if share > 0]
        names = [name for name in names if not absent.get(name)] or names
        weights = [self.options.shares[name] for name in names]
        taken = set[tuple[int, int]]()
        count = 0
        for _ in range(self.options.per_file):
            boundary = draw.choices(names, weights)[0]
            if boundary == "instruction" and self.options.by_models:
                count = min(count + 1, _MAX_COUNT)
                continue
            for _try in range(_MAX_TRIES):
                middle = drawers[boundary](draw)
                if middle is None or (middle.start, middle.end) in taken or not text[middle.start : middle.end].strip():
                    continue
                taken.add((middle.start, middle.end))
                yield pair_of(file, middle, boundary, self.options.context)
                break
        if count:
            self.excerpts.append(file._replace(shown=_excerpt(text, self.options.context, draw), pairs=count))


class _Source(NamedTuple):
    """A source that may be used: its folder and the licences in it, and its files of known languages."""

    text: str
    shown: str
    root: Path
    licences: dict[Path, str]
    paths: Sequence[Path]

    def licence(self, folder: Path) -> str:
        """Return the licence of a folder: by its own licence file, or as the folder above."""
        if folder not in self.licences:
            self.licences[folder] = folder_licence(folder) or self.licence(folder.parent)
        return self.licences[folder]


def pair_of(file: Excerpt, middle: Middle, boundary: Boundary, room: int) -> TrainingPair:
    """Return the pair of a middle, with at most ``room`` characters around it."""
    text = file.text
    before = min(middle.start, max(2 * room // 3, room - (len(text) - middle.end)))
    first, last = middle.start - before, min(len(text), middle.end + room - before)
    # Whole lines are shown, as by a prompt that is shortened.
    first = text.find("\n", first, middle.start) + 1 or middle.start if first else 0
    last = text.rfind("\n", middle.end, last) + 1 or middle.end if last < len(text) else last
    kind = f"/{boundary}" if boundary == "rewrite" else "/asked" if middle.instruction else ""
    return TrainingPair(
        id=f"{file.id}/{middle.start}-{middle.end}{kind}",
        language=file.language,
        source=file.source,
        path=file.path,
        licence=file.licence,
        boundary=boundary,
        instruction=middle.instruction,
        prefix=text[first : middle.start],
        middle=text[middle.start : middle.end] if middle.rewritten is None else middle.rewritten,
        suffix=text[middle.end : last],
        cut=first > 0 or last < len(text),
        author=middle.author,
    )


def _excerpt(text: str, room: int, draw: random.Random) -> str:
    """Return whole lines of a text, at most ``room`` characters, from a drawn one on."""
    lines = [match.start() for match in re.finditer(r"^", text, re.MULTILINE) if match.start() <= len(text) - room]
    first = draw.choice(lines) if len(text) > room else 0
    return text[first : text.rfind("\n", first, first + room) + 1] if len(text) > first + room else text[first:]


class Middle(NamedTuple):
    """Span of a text, the instruction that asks for it, another text in its place, and the model that chose it."""

    start: int
    end: int
    instruction: str | None = None
    rewritten: str | None = None
    author: str | None = None


def _read(path: Path, source: _Source) -> Excerpt | str:
    """Return a file, if a model should learn from it, or the reason why not."""
    inside = path.relative_to(source.root).as_posix()
    language = str(language_of(inside))
    if (fault := place_fault(inside)) is not None:
        return fault
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return "no UTF-8 text"
    # Models write line feeds alone, and so do prompts.
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if len(text) not in _CHARACTERS:
        return f"not between {_CHARACTERS[0]} and {_CHARACTERS[-1]:,} characters"
    if max(map(len, text.split("\n"))) > project_rules().files.max_line_bytes:
        return "long lines: generated by a tool"
    if is_marked_generated(text):
        return "generated by a tool"
    stated = _SPDX.search(text[:_HEAD])
    licence = stated[1].strip() if stated else source.licence(path.parent)
    if not is_permissive(licence):
        return f"under {licence}, which is not known to be permissive"
    if (secret := next((private for private in private_texts(text) if private.is_secret), None)) is not None:
        return f"holds {secret.description}"
    if fault_count(parse(text, language), language):
        return "does not parse"
    return Excerpt(text, language, source.shown, inside, licence)


# --- middles --------------------------------------------------------------------------------------------------------


def _characters(text: str, draw: random.Random) -> Middle | None:
    """Return a middle with any two ends, as in the first papers on fill-in-the-middle (Bavarian et al. 2022)."""
    start = draw.randrange(len(text))
    return Middle(start, min(len(text), start + draw.randint(4, 200)))


def _tokens(text: str, draw: random.Random) -> Middle | None:
    """Return a middle of 1 to 12 tokens of one line."""
    line = draw.choice(list(re.finditer(r"[^\n]+", text)))
    tokens = list(TOKEN.finditer(line[0]))
    if not tokens:
        return None
    first = draw.randrange(len(tokens))
    last = min(len(tokens), first + draw.randint(1, 12)) - 1
    return Middle(line.start() + tokens[first].start(), line.start() + tokens[last].end())


def _lines(text: str, draw: random.Random) -> Middle | None:
    """Return a middle of 1 to 8 lines, from the first character that is no blank to the end of the last line."""
    lines = list(re.finditer(r"[^\n]*\n?", text))[:-1]
    first = draw.randrange(len(lines))
    last = min(len(lines), first + draw.randint(_LINES[0], _LINES[-1])) - 1
    begin = lines[first].start() + len(lines[first][0]) - len(lines[first][0].lstrip(" \t"))
    return Middle(begin, lines[last].start() + len(lines[last][0].rstrip("\n")))


def _block(blocks: Callable[[], list[Middle]], draw: random.Random) -> Middle | None:
    return draw.choice(blocks()) if blocks() else None


def _blocks(text: str, language: str) -> Iterator[Middle]:
    """Yield the middles that are one node of the tree, of 2 to 30 lines, which begins its line and ends one."""
    position = CharacterOffsets(text).characters
    waiting = [parse(text, language).root_node]
    while waiting:
        node = waiting.pop()
        lines = node.end_point.row - node.start_point.row + 1
        if lines < _BLOCK_LINES[0]:
            continue
        waiting.extend(node.named_children)
        start, end = position(node.start_byte), position(node.end_byte)
        begins = not text[text.rfind("\n", 0, start) + 1 : start].strip()
        following = text.find("\n", end)
        if lines in _BLOCK_LINES and begins and not text[end : following if following >= 0 else None].strip():
            yield Middle(start, end)


def _instructed(file: Excerpt, middles: Callable[[], list[ScaleMiddle]], draw: random.Random) -> Middle | None:
    """Return a middle of C3-Bench's scale-control completion with its instruction."""
    if not middles():
        return None
    middle = draw.choice(middles())
    source = SourceText(file.id, file.language, file.text, Provenance(source=file.source, licence=file.licence))
    return Middle(middle.start, middle.end, scale_problem(source, middle).caret.instruction)


class _Rewrites:
    """Middles of C3-Bench's implementation-control completion: a rewrite that keeps what a function does by its guards.

    C3-Bench runs each with the function's tests; a set of pairs has none.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._contexts = cache(self._rewritten)

    @cached_property
    def _functions(self) -> list[ast.FunctionDef]:
        module = python_module(self._text)
        return [
            node
            for node in (ast.walk(module) if module else ())
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno < _MAX_FUNCTION_LINES
        ]

    def __call__(self, draw: random.Random) -> Middle | None:
        function = draw.choice(self._functions) if self._functions else None
        if function is None or not (contexts := self._contexts(function)):
            return None
        context = draw.choice(contexts)
        equivalent = draw.choice(context.equivalents)
        return Middle(context.start, context.end, draw.choice(equivalent.instructions), equivalent.text)

    def _rewritten(self, function: ast.FunctionDef) -> list[EquivalentContext]:
        """Return the rewrites of a function by their places in the file."""
        lines = self._text.split("\n")
        # Without the rest of the file, which is parsed again for each of some hundred candidates.
        source = "\n".join(lines[function.lineno - 1 : function.end_lineno]) + "\n"
        head = "if True:\n" if function.col_offset else ""
        shift = sum(len(line) + 1 for line in lines[: function.lineno - 1]) - len(head)
        contexts = equivalent_contexts(head + source, function.name)
        return [context._replace(start=context.start + shift, end=context.end + shift) for context in contexts]
