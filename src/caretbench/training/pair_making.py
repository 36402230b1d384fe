"""Making of training pairs from permissively licensed sources, without a model: fill-in-the-middle and instructions."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from caretbench.build.sources.fetching.project_folders import ProjectFolder, ProjectFolders
from caretbench.build.sources.fetching.source_spec import SourceSpec
from caretbench.build.sources.licences import is_licence_file, is_permissive, repository_licence
from caretbench.build.validation.private_texts import private_texts
from caretbench.errors import DataError
from caretbench.files import sha256_text
from caretbench.problem import Provenance
from caretbench.progress import Progress
from caretbench.projects.project import place_fault
from caretbench.projects.settings import project_rules
from caretbench.suites.c3bench.build.build_folder import SourceText
from caretbench.suites.c3bench.build.problem_building import scale_problem
from caretbench.suites.c3bench.build.scale_middles import ScaleMiddle, proposed_middles
from caretbench.suites.c3bench.build.sources import LANGUAGES as INSTRUCTED
from caretbench.syntax.faults import fault_count
from caretbench.syntax.parser import CharacterOffsets, parse
from caretbench.syntax.source import language_of
from caretbench.training.pairs import TOKEN, Boundary, TrainingPair

DEFAULT_SHARES: Final[Mapping[Boundary, float]] = {
    "character": 0.1, "token": 0.1, "line": 0.25, "block": 0.25, "instruction": 0.3
}  # fmt: skip
"""Share of the pairs of each boundary."""

_CHARACTERS: Final = range(200, 60_001)
"""Length of a file: a shorter one has no context, a longer one is data or made by a tool."""
_LINES: Final = range(1, 9)
_BLOCK_LINES: Final = range(2, 31)
_LICENCE_BYTES: Final = 1 << 18
_MAX_INSTRUCTED: Final = 20_000
"""Characters of a file with instructions: each block is counted in the whole file, 30 CPU s for one of 60,000."""
_MAX_TRIES: Final = 8
"""Draws for one middle: most lines of a table or a comment are no middle."""


class PairOptions(NamedTuple):
    """Options of a set of pairs: how many a file, the share of each boundary, and the bound of what is shown.

    ``context`` is the maximum of characters of prefix and suffix together; two thirds are before the middle.
    """

    per_file: int = 12
    shares: Mapping[Boundary, float] = DEFAULT_SHARES
    context: int = 8_000
    languages: Sequence[str] = ()
    seed: int = 0


class SourceReport(NamedTuple):
    """Yield of one source: files and pairs, or the reason why it was refused; files passed over by reason."""

    source: str
    licence: str | None
    files: int
    pairs: int
    refused: str | None
    passed_over: Mapping[str, int]


class PairMaker:
    """Maker of pairs; ``reports`` has an entry for each source that was read."""

    def __init__(self, options: PairOptions, folders: ProjectFolders | None = None) -> None:
        self.options = options
        self.reports: list[SourceReport] = []
        self._folders = folders or ProjectFolders()

    def pairs(self, specs: Sequence[SourceSpec], progress: Progress) -> Iterator[TrainingPair]:
        """Yield the pairs of all sources, in order; the same sources give the same pairs."""
        seen = set[str]()
        for spec in specs:
            progress("sources", 1, len(specs), spec.shown)
            try:
                folder = self._folders.open(spec)
            except DataError as error:
                reason = str(error).removeprefix(f"{spec.shown}: ")
                self.reports.append(SourceReport(spec.shown, None, 0, 0, reason, {}))
                continue
            yield from self._of_source(folder, seen)

    def _of_source(self, folder: ProjectFolder, seen: set[str]) -> Iterator[TrainingPair]:
        root = Path(folder.path)
        licence = folder.licence or _licence(root)
        if licence is None or not is_permissive(licence):
            reason = f"{licence} is not known to be permissive" if licence else "no licence file of a known licence"
            self.reports.append(SourceReport(folder.source, licence, 0, 0, reason, {}))
            return
        name = f"{folder.name} {folder.revision}" if folder.revision else folder.name
        passed_over: Counter[str] = Counter()
        files = pairs = 0
        for path in sorted(one for one in root.rglob("*") if one.is_file() and not one.is_symlink()):
            inside = path.relative_to(root).as_posix()
            language = language_of(inside)
            if language is None or (self.options.languages and language not in self.options.languages):
                continue
            read = _read(path, inside, language)
            if read.fault or sha256_text(read.text) in seen:
                passed_over[read.fault or "the same as an earlier file"] += 1
                continue
            seen.add(sha256_text(read.text))
            files += 1
            for pair in self._of_file(read.text, language, name, inside, licence):
                pairs += 1
                yield pair
        self.reports.append(SourceReport(folder.source, licence, files, pairs, None, dict(passed_over.most_common())))

    def _of_file(self, text: str, language: str, source: str, path: str, licence: str) -> Iterator[TrainingPair]:
        draw = random.Random(f"{self.options.seed} {source} {path}")  # noqa: S311 - a reproducible draw, no secret
        drawers: Mapping[Boundary, Callable[[random.Random], _Middle | None]] = {
            "character": partial(_characters, text),
            "token": partial(_tokens, text),
            "line": partial(_lines, text),
            "block": _Blocks(text, language),
            "instruction": _Instructions(text, language, source, path, licence),
        }
        names = [name for name, share in self.options.shares.items() if share > 0]
        if (language not in INSTRUCTED or len(text) > _MAX_INSTRUCTED) and len(names) > 1:
            # C3-Bench has instructions for four languages; elsewhere plain middles take their place.
            names = [name for name in names if name != "instruction"]
        weights = [self.options.shares[name] for name in names]
        taken = set[tuple[int, int]]()
        for _ in range(self.options.per_file):
            boundary = draw.choices(names, weights)[0]
            for _try in range(_MAX_TRIES):
                middle = drawers[boundary](draw)
                if middle is None or (middle.start, middle.end) in taken or not text[middle.start : middle.end].strip():
                    continue
                taken.add((middle.start, middle.end))
                yield self._pair(text, middle, boundary, (language, source, path, licence))
                break

    def _pair(self, text: str, middle: _Middle, boundary: Boundary, place: tuple[str, str, str, str]) -> TrainingPair:
        language, source, path, licence = place
        room = self.options.context
        before = min(middle.start, max(2 * room // 3, room - (len(text) - middle.end)))
        first, last = middle.start - before, min(len(text), middle.end + room - before)
        # Whole lines are shown, as by a prompt that is shortened.
        first = text.find("\n", first, middle.start) + 1 or middle.start if first else 0
        last = text.rfind("\n", middle.end, last) + 1 or middle.end if last < len(text) else last
        return TrainingPair(
            id=f"{source}/{path}/{middle.start}-{middle.end}" + ("/asked" if middle.instruction else ""),
            language=language,
            source=source,
            path=path,
            licence=licence,
            boundary=boundary,
            instruction=middle.instruction,
            prefix=text[first : middle.start],
            middle=text[middle.start : middle.end],
            suffix=text[middle.end : last],
            cut=first > 0 or last < len(text),
        )


class _Middle(NamedTuple):
    """Span of a text, and the instruction that asks for it."""

    start: int
    end: int
    instruction: str | None = None


class _Read(NamedTuple):
    """Text of a file, or the reason why it is not used."""

    text: str
    fault: str


def _read(path: Path, inside: str, language: str) -> _Read:
    """Return the text of a file, if a model should learn from it."""
    if (fault := place_fault(inside)) is not None:
        return _Read("", fault)
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return _Read("", "no UTF-8 text")
    # Models write line feeds alone, and so do prompts.
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if len(text) not in _CHARACTERS:
        return _Read("", f"not between {_CHARACTERS[0]} and {_CHARACTERS[-1]:,} characters")
    if max(map(len, text.split("\n"))) > project_rules().files.max_line_bytes:
        return _Read("", "long lines: generated by a tool")
    if (secret := next((one for one in private_texts(text) if one.is_secret), None)) is not None:
        return _Read("", f"holds {secret.description}")
    if fault_count(parse(text, language), language):
        return _Read("", "does not parse")
    return _Read(text, "")


def _licence(root: Path) -> str | None:
    """Return the licence of a project by the licence files of its own folder."""
    texts = {
        path.name: path.read_bytes()[:_LICENCE_BYTES].decode("utf-8", "replace")
        for path in sorted(root.iterdir())
        if path.is_file() and is_licence_file(PurePosixPath(path.name).name)
    }
    return repository_licence(texts)


# --- middles --------------------------------------------------------------------------------------------------------


def _characters(text: str, draw: random.Random) -> _Middle | None:
    """Return a middle with any two ends, as in the first papers on fill-in-the-middle (Bavarian et al. 2022)."""
    start = draw.randrange(len(text))
    return _Middle(start, min(len(text), start + draw.randint(4, 200)))


def _tokens(text: str, draw: random.Random) -> _Middle | None:
    """Return a middle of 1 to 12 tokens of one line."""
    line = draw.choice(list(re.finditer(r"[^\n]+", text)))
    tokens = list(TOKEN.finditer(line[0]))
    if not tokens:
        return None
    first = draw.randrange(len(tokens))
    last = min(len(tokens), first + draw.randint(1, 12)) - 1
    return _Middle(line.start() + tokens[first].start(), line.start() + tokens[last].end())


def _lines(text: str, draw: random.Random) -> _Middle | None:
    """Return a middle of 1 to 8 lines, from the first character that is no blank to the end of the last line."""
    lines = list(re.finditer(r"[^\n]*\n?", text))[:-1]
    first = draw.randrange(len(lines))
    last = min(len(lines), first + draw.randint(_LINES[0], _LINES[-1])) - 1
    begin = lines[first].start() + len(lines[first][0]) - len(lines[first][0].lstrip(" \t"))
    return _Middle(begin, lines[last].start() + len(lines[last][0].rstrip("\n")))


class _Blocks:
    """Middles that are one node of the tree, of 2 to 30 lines, which begins its line and ends one."""

    def __init__(self, text: str, language: str) -> None:
        self._text, self._language = text, language
        self._spans: list[_Middle] | None = None

    def __call__(self, draw: random.Random) -> _Middle | None:
        if self._spans is None:
            self._spans = list(self._found())
        return draw.choice(self._spans) if self._spans else None

    def _found(self) -> Iterator[_Middle]:
        text = self._text
        position = CharacterOffsets(text).characters
        waiting = [parse(text, self._language).root_node]
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
                yield _Middle(start, end)


class _Instructions:
    """Middles of C3-Bench's scale-control completion, each with its instruction."""

    def __init__(self, text: str, language: str, source: str, path: str, licence: str) -> None:
        self._file = SourceText(f"{source}/{path}", language, text, Provenance(source=source, licence=licence))
        self._middles: list[ScaleMiddle] | None = None

    def __call__(self, draw: random.Random) -> _Middle | None:
        if self._middles is None:
            self._middles = proposed_middles(self._file.text, self._file.language)
        if not self._middles:
            return None
        one = draw.choice(self._middles)
        return _Middle(one.start, one.end, scale_problem(self._file, one).caret.instruction)
