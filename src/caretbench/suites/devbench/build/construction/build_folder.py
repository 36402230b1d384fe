"""Options of ``caretbench build devbench``, and the folder of a built set.

::

    mine/
      LANGUAGE/CATEGORY/NAME.EXT  the instances, as `--data` reads them; NAME.toml has the predicates of documentation
      instances.jsonl             one row for each instance
      attempts.jsonl              one row for the end of each attempt
      requests.jsonl              what was sent to generators
      asked.jsonl, errors.jsonl   answers of generators, and requests without one
      validity.jsonl              verdicts of the gate on candidates
      rejected/                   files of instances that people rejected
      manifest.json               seed, canary, options, yields

Rows are appended before and after each step, so that a killed build goes on where it was.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from caretbench.build.build_models import ANSWERS_FILE
from caretbench.errors import DataError, UsageError
from caretbench.files import RowAppender, read_appended, read_document, sha256_text, write_atomically, write_rows
from caretbench.languages import get_language
from caretbench.models import ChatPrompt
from caretbench.options import Option, StringList
from caretbench.problem import Latency, Problem, Row, StoredRow
from caretbench.suites.devbench import starter
from caretbench.suites.devbench.build.cell_languages import cell_languages
from caretbench.suites.devbench.built_instances import (
    INSTANCES_FILE,
    BuiltInstance,
    InstanceId,
    Scenario,
    built_instances,
    built_problems,
)
from caretbench.suites.devbench.cells.cell_tables import RELEASED_LANGUAGES, canonical_category, cell_categories
from caretbench.suites.devbench.starter import DocumentationCheck

GENERATOR_ROLE: Final = "generator"

_CELLS, _REQUESTS, _CHECKS = "Cells", "Requests", "Checks"

OPTIONS: Final = (
    Option("language", StringList, "Language of the instances; may be repeated. Default: all.", "build",
           metavar="NAME", help_group=_CELLS),
    Option("category", StringList, "Category of the instances; may be repeated. Default: all.", "build",
           metavar="NAME", help_group=_CELLS),
    Option("per_cell", int, "Number of instances up to which each cell (a language and a category) is filled; what the "
           "folder has already counts. Default: the folder's, at first 10; with --again as many as there were.",
           "build",
           flags=("--per-cell", "-n"), minimum=1, metavar="N", help_group=_CELLS),
    Option("weights", Path, "File of weights by language and category: cells with a higher share get more of "
           "the same total.", "build", metavar="FILE", help_group=_CELLS),
    Option("siblings", bool, "Also write a sibling of each instance: the same shape in another domain.", "build",
           flags=("--siblings",), default=False, help_group=_CELLS),
    Option("scenario_seed", int, "Random seed of the scenarios of a new folder. Default: a random one.", "build",
           minimum=0, metavar="N", help_group=_REQUESTS),
    Option("template", Path, "Folder with a template of the requests, template.toml. Default: the shipped one.",
           "build", metavar="DIR", help_group=_REQUESTS),
    Option("every_generator", bool, "Request each scenario from every generator, to measure generator bias. "
           "Default: one generator per scenario; the next one follows if it fails.", "build",
           flags=("--every-generator",), default=False, help_group=_REQUESTS),
    Option("repairs", int, "Maximum number of retries per generator after an unusable answer; each retry quotes the "
           "diagnosis.", "build", default=1, minimum=0, metavar="N", help_group=_REQUESTS),
    Option("patience", int, "Maximum number of scenarios that are tried for each instance.", "build", default=3,
           minimum=1, metavar="N", help_group=_REQUESTS),
    Option("again", Path, "Export of a review: removes the rejected instances and requests replacements, quoting the "
           "reviewers' reasons.", "build", metavar="PATH", help_group=_CHECKS),
    Option("compare", StringList, "Public set in which twins are searched: starter, released, humaneval-infilling, "
           "none, or a folder; may be repeated. Default: those that are in the cache.", "build",
           metavar="SET", help_group=_CHECKS),
    Option("licence", str, "Licence of the instances, for their rows and a release.", "build", metavar="NAME",
           help_group=_CHECKS),
    Option("unverified", bool, "Also keep instances that this machine cannot run.", "build", flags=("--unverified",),
           default=False, help_group=_CHECKS),
    Option("jobs", int, "Maximum number of programs that run at the same time. Default: the number of processors.",
           "build", flags=("--jobs", "-j"), minimum=1, help_group="Execution"),
)  # fmt: skip
"""Options of ``caretbench build devbench``."""


class ConstructionOptions(Row):
    """Options of one build of instances."""

    languages: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    per_cell: int | None = None
    """None: the folder's number."""
    weights: Path | None = None
    siblings: bool = False
    scenario_seed: int | None = None
    template: Path | None = None
    every_generator: bool = False
    repairs: int = Field(default=1, ge=0)
    patience: int = Field(default=3, ge=1)
    again: Path | None = None
    compare: tuple[str, ...] = ()
    licence: str | None = None
    unverified: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ConstructionOptions:
        """Return the options from the values of :data:`OPTIONS`.

        Raises:
            UsageError: there is no such language or category.
        """
        named = {name: values[name] for name in cls.model_fields if name in values}
        named["compare"] = tuple(values["compare"] or ())
        languages = tuple(_known_language(name) for name in values["language"] or ())
        categories = tuple(_known_category(name) for name in values["category"] or ())
        return cls(languages=languages, categories=categories, **named)


def _known_language(name: str) -> str:
    try:
        language = RELEASED_LANGUAGES.get(name) or get_language(name).name
    except UsageError:
        language = name
    if language not in cell_languages():
        raise UsageError(f"--language {name}: no such cells; languages: {', '.join(cell_languages())}")
    return language


def _known_category(name: str) -> str:
    try:
        return canonical_category(name)
    except UsageError:
        raise UsageError(f"--category {name}: no such cells; categories: {', '.join(cell_categories())}") from None


LONGEST_DIAGNOSIS: Final = 1000
"""Maximum number of characters of a diagnosis: compilers and reviewers write more than a model needs."""
# A generator's text is quoted in the next request. Marks of direction and tags would hide instructions in it from the
# person who reads the log.
_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
"""Unicode categories of characters that a reader does not see: controls, marks of direction, tags."""


def bounded_diagnosis(text: str) -> str:
    """Return a diagnosis of at most :data:`LONGEST_DIAGNOSIS` characters; control characters are escaped."""
    start = text[: LONGEST_DIAGNOSIS + 1]
    shown = "".join(character if character in "\n\t" else _escaped(character) for character in start)
    return shown if len(shown) <= LONGEST_DIAGNOSIS else f"{shown[: LONGEST_DIAGNOSIS - 1]}…"


def quoted_line(text: str, characters: int) -> str:
    """Return a text as one line in quotation marks, without control characters, backticks and quotation marks."""
    line = " ".join(text.split())
    # Without quotation marks and backticks the text cannot end its own quotation.
    plain = (sign for sign in line if sign not in '`"' and unicodedata.category(sign) not in _HIDDEN)
    return f'"{"".join(plain)[:characters]}"'


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return re.sub(r"^\\x", r"\\u00", character.encode("unicode_escape").decode("ascii"))


SUMMARY_CHARACTERS: Final = 120
"""Maximum number of characters of a justification in the requests of the same cell."""
LONGEST_SUMMARY: Final = 400
"""Largest number of characters of such a line: id, domain, construct and justification."""

AttemptOutcome = Literal[
    "instance", "empty", "cut_off", "refused", "malformed", "text", "twin", "gate", "unverified", "rejected"
]
"""End of an attempt. ``text``: a check of the text failed; ``gate``: the program, or a wrong answer to it, did;
``unverified``: this machine cannot run it; ``rejected``: people rejected the instance."""


class InstanceRequest(StoredRow):
    """One request to a generator: a line of ``requests.jsonl``, written before it is sent.

    A resumed build sends the same text, so that a stored answer is found again.
    """

    key: str
    track: str
    scenario: Scenario
    generator: str
    attempt: int = Field(ge=1)
    prompt: ChatPrompt


class InstanceAttempt(StoredRow):
    """The end of one attempt: a line of ``attempts.jsonl``.

    ``scenario`` is an id; ``request`` the key of the request; ``detail`` the diagnosis; ``checks`` have ``ok`` or a
    fault. ``instance`` is the id of the accepted or rejected instance. ``cost`` is in US dollars.
    """

    request: str
    track: str
    scenario: str
    cell: str
    generator: str
    attempt: int
    outcome: AttemptOutcome
    detail: str = ""
    checks: Mapping[str, str] = Field(default_factory=dict)
    instance: InstanceId | None = None
    killed_by: str = ""
    cost: float | None = None
    seconds: float | None = None
    """Seconds from the request to the end of the answer."""


def summary_line(row: BuiltInstance) -> str:
    """Return one line for the requests of the same cell; the justification, which a model wrote, is quoted."""
    words = quoted_line(row.justification, SUMMARY_CHARACTERS)
    return f"{row.id.rpartition('/')[2]} ({row.scenario.domain}; {row.scenario.language_construct}): {words}"


class ConstructionManifest(StoredRow):
    """Manifest of a built set: seed, canary, options of the last build, generators, yields, hours and cost.

    ``models`` are the ``-m`` options of the last build that had some. ``yields`` count attempts by cell and outcome.
    ``cost`` is in US dollars, None if that of an answer is unknown. ``request_hours`` are the sum of the waiting times
    of all requests, ``wall_hours`` the time of the builds.
    """

    suite: str = "devbench"
    seed: int
    canary: str
    models: tuple[str, ...] = ()
    options: Mapping[str, object] = Field(default_factory=dict)
    instances: Mapping[str, int] = Field(default_factory=dict)
    yields: Mapping[str, Mapping[str, int]] = Field(default_factory=dict)
    cost: float | None = None
    request_hours: float = 0.0
    wall_hours: float = 0.0
    versions: Mapping[str, str] = Field(default_factory=dict)


ATTEMPTS_FILE: Final = "attempts.jsonl"
REQUESTS_FILE: Final = "requests.jsonl"
VALIDITY_FILE: Final = "validity.jsonl"
MANIFEST_FILE: Final = "manifest.json"
LOCK_FILE: Final = "build.lock"
REJECTED_FOLDER: Final = "rejected"


class StoredAnswer(BaseModel):
    """The fields of a stored answer that a build of instances needs; others are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    role: str
    request: str
    model: str
    text: str | None = None
    finish_reason: str | None = None
    cost: float | None = None
    latency: Latency | None = None


def sum_of_costs(costs: Sequence[float | None]) -> float | None:
    """Return the sum of costs; None if one is not known: the sum of the others would be too low."""
    # Local models and servers without prices have no cost, which is not the same as none.
    stated = [cost for cost in costs if cost is not None]
    return sum(stated) if len(stated) == len(costs) else None


class BuildFolder:
    """Folder of a built set, with its rows."""

    def __init__(self, path: Path) -> None:
        self.path = path

    # --- rows -------------------------------------------------------------------------------------------------------

    def instances(self) -> dict[str, BuiltInstance]:
        """Return the instances by id; of two rows of one id the later one.

        Raises:
            DataError: a row is malformed.
        """
        return built_instances(self.path)

    def attempts(self) -> list[InstanceAttempt]:
        """Return the ends of all attempts; DataError if a row is malformed."""
        return list(read_appended(self.path / ATTEMPTS_FILE, InstanceAttempt))

    def requests(self) -> list[InstanceRequest]:
        """Return all requests; DataError if a row is malformed."""
        return list(read_appended(self.path / REQUESTS_FILE, InstanceRequest))

    def answers(self) -> dict[tuple[str, str], StoredAnswer]:
        """Return the stored answers by model and request; DataError if a row is malformed."""
        return {(row.model, row.request): row for row in read_appended(self.path / ANSWERS_FILE, StoredAnswer)}

    def append(self, name: str, *rows: BaseModel) -> None:
        """Append rows to a file of the folder; DataError if it is a link."""
        # A folder may come from somebody else: a link would append to a file of the user.
        if (self.path / name).is_symlink():
            raise DataError(f"{self.path / name}: it is a link; remove it")
        with RowAppender(self.path / name) as appender:
            appender.append(*rows)

    def write_instances(self, rows: Mapping[str, BuiltInstance]) -> None:
        """Replace the rows of instances, in the order of their ids."""
        write_rows(self.path / INSTANCES_FILE, (rows[name] for name in sorted(rows)))

    def manifest(self) -> ConstructionManifest | None:
        """Return the manifest; None in a new folder.

        Raises:
            DataError: it is malformed, or of another suite.
        """
        path = self.path / MANIFEST_FILE
        if not path.exists():
            return None
        try:
            manifest = read_document(path, ConstructionManifest)
        except DataError as error:
            raise DataError(f"{error}; it is no folder of `build devbench`") from None
        if manifest.suite != "devbench":
            raise DataError(f"{path}: the folder holds a build of {manifest.suite}; choose another one")
        return manifest

    def write_manifest(self, manifest: ConstructionManifest) -> None:
        """Write the manifest."""
        write_atomically(self.path / MANIFEST_FILE, json.dumps(manifest.model_dump(mode="json"), indent=2) + "\n")

    # --- files ------------------------------------------------------------------------------------------------------

    def file_of(self, instance: str) -> Path:
        """Return the path of an instance's file.

        Raises:
            DataError: the language is unknown, or a link leads out of the folder.
        """
        try:
            path = self.path / f"{instance}{get_language(instance.partition('/')[0]).suffix}"
        except UsageError as error:
            raise DataError(f"{self.path}: {instance}: {error}") from None
        # Ids of rows name the file to write, and a linked folder below this one would lead it anywhere.
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise DataError(f"{path}: a link leads out of the folder; remove it")
        return path

    def write_instance(self, instance: str, text: str, predicate: DocumentationCheck | None) -> None:
        """Write the file of an instance, and the one of its predicate, if it has one."""
        path = self.file_of(instance)
        # The predicate first: a program without it would be an instance whose comment nobody checks.
        if predicate is not None:
            lines = (
                f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
                for name, value in predicate.model_dump(mode="json").items()
            )
            write_atomically(path.with_suffix(".toml"), "".join(("[documentation]\n", *lines)))
        write_atomically(path, text)

    def reject_instance(self, instance: str, attempt: int) -> None:
        """Move the files of a rejected instance away, if they are there."""
        path = self.file_of(instance)
        folder = self.path / REJECTED_FOLDER / instance.rpartition("/")[0]
        for file in (path, path.with_suffix(".toml")):
            if file.exists():
                folder.mkdir(parents=True, exist_ok=True)
                file.rename(folder / f"{file.stem}-{attempt}{file.suffix}")

    def rejected_problems(self) -> list[Problem]:
        """Return the problems that people rejected; their ids begin with ``rejected/``."""
        # Rejected instances stay in the index of twins: a generator would otherwise write the same one again.
        root = self.path / REJECTED_FOLDER
        problems = starter.load(root, source=REJECTED_FOLDER) if any(root.glob("*/*/*.*")) else []
        return [problem.model_copy(update={"id": f"{REJECTED_FOLDER}/{problem.id}"}) for problem in problems]

    def problems(self) -> list[Problem]:
        """Return the problems of all files, with labels and provenance of the rows; empty in a new folder.

        Raises:
            DataError: a file or a row is malformed.
        """
        return built_problems(self.path)

    def text_hash(self, instance: str) -> str:
        """Return the hash of an instance's file."""
        return sha256_text(self.file_of(instance).read_text("utf-8"))
