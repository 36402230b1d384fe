"""Conventional benchmarks: one suite class, registered under the name of each description."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from caretbench.conventional import conventional_names
from caretbench.conventional.descriptions import DataFile, Description, RepositoryCheck, description, released_file
from caretbench.conventional.rows import DataRow, read_problems, read_rows
from caretbench.errors import UsageError
from caretbench.execution.dispatcher import AnyRequest
from caretbench.execution.execution_types import CONTEST, ExecutionRequest, Limits
from caretbench.files import DataError
from caretbench.languages import get_language
from caretbench.metrics.similarity import similarities
from caretbench.problem import Problem, Profile, TestsCheck
from caretbench.profiles import ProfileRule, ProfileRules, paper_only
from caretbench.projects.answer_requests import workspace_request
from caretbench.projects.file_spans import BOM, span_splice, visible_text
from caretbench.suites import register
from caretbench.suites.base import Suite
from caretbench.suites.fim.measures import matches, released_measures
from caretbench.suites.suite_types import Measurement, ProblemSet, Stratification, unread_files
from caretbench.syntax import Span

_LONG = 80

if TYPE_CHECKING:
    from caretbench.execution.workspaces.snapshot_store import Snapshot


class Repositories:
    """Repositories of an archive, added to the store of snapshots as problems name them.

    Args:
        project: The check of the answers.
        root: The archive's folder, or a file in it.
    """

    def __init__(self, project: RepositoryCheck, root: Path) -> None:
        self._project = project
        self._folder = (root if root.is_dir() else root.parent) / project.folder
        self._snapshots: dict[str, Snapshot] = {}

    def complete(self, where: str, problem: Problem) -> Problem:
        """Return a problem with a splice into its repository.

        Raises:
            DataError: the repository is missing, or its file has another text at the caret.
        """
        caret = problem.caret
        name, path = caret.repository or "", caret.path or ""
        folder = self._folder / name
        snapshot = self._snapshot(where, name)
        entry = snapshot.entries.get(path)
        if entry is None or entry.kind != "file":
            raise DataError(f"{where}: {folder} has no file {path[:_LONG]!r}")
        data, middle = snapshot.read(path), caret.prefix + problem.reference
        try:
            shown = visible_text(data)
        except UnicodeDecodeError:
            shown = ""
        if shown != middle + caret.suffix:
            raise DataError(f"{where}: {folder / path} is not prefix, reference and suffix of the row")
        span = Span(_position(data, caret.prefix), _position(data, middle))
        return problem.model_copy(
            update={
                "splice": span_splice(path, span, snapshot.id, data),
                "checks": (TestsCheck(command=self._project.command),),
            }
        )

    def _snapshot(self, where: str, name: str) -> Snapshot:
        from caretbench.execution.workspaces.snapshot_store import SnapshotStore

        if name not in self._snapshots:
            folder = self._folder / name
            # An empty name would be the folder of all repositories. Path.is_dir raises where a name is too long.
            if not name or not os.path.isdir(folder):  # noqa: PTH112
                raise DataError(f"{where}: no repository {name[:_LONG]!r} in {self._folder}; unpack the archive there")
            self._snapshots[name] = SnapshotStore().add(folder)
        return self._snapshots[name]


def _position(data: bytes, shown: str) -> int:
    """Return the number of bytes of a file whose visible text begins with ``shown`` up to its end."""
    # The rows have line feeds; the file may have CRLF.
    count = shown.count("\n")
    returns = sum(line.endswith(b"\r") for line in data.split(b"\n", count)[:count])
    return len(BOM) * data.startswith(BOM) + len(shown.encode()) + returns


_DATA = re.compile(r"\.(?:jsonl|jsonl\.gz|parquet)$")
_SUFFIXES = (".jsonl", ".gz", ".parquet")
_DescribedFile = tuple[Path, DataFile | None, Mapping[str, str]]
"""Data file with its description, if it has one, and the fields that its path gives to its rows."""
# A busy machine stretches wall time, and a virtual machine needs some to start: it must not decide.
_WALL_FACTOR, _START_S = 4.0, 10.0


class FimProfile(ProfileRules):
    """Scoring rules of conventional benchmarks."""

    released_match = paper_only(
        "When does an answer equal the reference, where nothing runs?",
        paper="by the released rule; calls of SAFIM's API split by their arguments alone",
        default="by its lines without blanks at their ends; calls by callee and arguments",
    )
    executes_text = paper_only(
        "How does HumanEval-Infilling run a program?",
        paper="as a text that is executed where `exit` and `quit` are None",
        default="as a program",
    )


class FimSuite(Suite):
    """One conventional benchmark; see :class:`caretbench.suites.base.Suite`. ``about_data`` is its description."""

    about_data: ClassVar[Description]
    profile_rules: ClassVar[type[ProfileRules]] = FimProfile

    def load(self, source: str) -> ProblemSet:
        """Return the problems of ``released`` (fetched by ``pull``), or of a file or folder of the released layout."""
        about = self.about_data
        if source in ("released", "starter"):
            if not about.url:
                raise UsageError(f"{self.name}: give its data with --data PATH. {about.archive}")
            of_data = (file for file in about.files if _DATA.search(file.path))
            rows = (row for file in of_data for row in read_rows(released_file(self.name, file), file))
            return ProblemSet.of("released", read_problems(self.name, rows))
        root = Path(source)
        if not root.exists():
            raise DataError(f"{source}: no such file or folder")
        complete = Repositories(about.project, root).complete if about.project is not None else None
        others: dict[str, list[str]] = {}
        files = self._files(root)
        problems = read_problems(self.name, _rows(files), complete, others)
        if others and not problems:
            name, places = next(iter(others.items()))
            raise DataError(f"{places[0]}: unknown language {name!r}")
        if not problems:
            raise DataError(f"{source}: no data of {self.title} here; expected files of the form {about.layout}")
        expected = ", ".join(sorted(Path(file.path).name for file in about.files)) or about.layout
        unread = unread_files(root, {path for path, *_ in files}, _SUFFIXES, expected) if root.is_dir() else ()
        passed_over = [f"rows in {name} passed over: {len(places)}" for name, places in sorted(others.items())]
        return ProblemSet.of(root.resolve().name, problems, (*unread, *passed_over))

    def _files(self, root: Path) -> list[_DescribedFile]:
        """Return the released files below a folder: by their names, else by the described layout."""
        by_name = {Path(file.path).name: file for file in self.about_data.files}
        by_name |= {name.removesuffix(".gz"): file for name, file in by_name.items()}
        paths = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.is_file())
        named = [path for path in paths if path.name in by_name and _DATA.search(path.name)]
        if named:
            return [(path, by_name[path.name], {}) for path in named]
        return [
            (path, None, {name: value for name, value in match.groupdict().items() if value is not None})
            for path in paths
            if (match := _nearest_match(self.about_data.layout, path)) is not None
        ]

    def canonical_label(self, name: str, value: str) -> str:
        """Return CaretBench's name of a language for any common spelling."""
        return get_language(value).name if name == "language" else value

    def make_request(self, problem: Problem, text: str | None, profile: Profile) -> AnyRequest | None:
        """Return the program with an answer, within the benchmark's limits."""
        if (project := self.about_data.project) is not None:
            if text is None:
                return None
            command = workspace_request(problem, text)
            limits = command.limits.model_copy(update={"wall_s": project.wall_s, "cpu_s": project.wall_s})
            return command.model_copy(update={"limits": limits})
        request = super().make_request(problem, text, profile)
        if not isinstance(request, ExecutionRequest):
            return request
        cpu_s = self.about_data.cpu_s
        source = request.source
        if self.about_data.exec_under_paper and FimProfile(profile).executes_text:
            source = _executed_text(source)
        return request.model_copy(
            update={
                "source": source,
                "variant": CONTEST,
                "limits": Limits(cpu_s=cpu_s, wall_s=_WALL_FACTOR * cpu_s + _START_S),
                # Ten times the reference's CPU time is wide enough: 2 to 7 % of stubs loop, and each would loop twice.
                "confirms_cpu_limit": False,
            }
        )

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Return the similarity to the reference, the released metrics, and the match where nothing runs."""
        answer = text or ""
        measurements = [Measurement("similarity@1", similarities([(answer, problem.reference)])[0]._asdict())]
        measurements += released_measures(self.about_data.metrics, problem, answer)
        if any(check.kind == "predicate" for check in problem.checks):
            rule, released = self.about_data.match, FimProfile(profile).released_match
            passed = matches(rule, problem, answer, released=released)
            measurements.append(Measurement(f"match/{rule}@1", {"passed": float(passed)}))
        return measurements


def _nearest_match(layout: str, path: Path) -> re.Match[str] | None:
    """Return the match of a layout in the fewest folders above a file: those of its user may be called `java`, too."""
    parts = path.resolve().parts
    tails = ("/".join(parts[start:]) for start in range(len(parts) - 1, -1, -1))
    return next((match for tail in tails if (match := re.search(layout, tail))), None)


def _rows(files: Iterable[_DescribedFile]) -> Iterator[DataRow]:
    """Yield the rows of files; those with the same values are parts of one, whose rows are numbered on."""
    counts = Counter[tuple[str, ...]]()
    for path, file, values in files:
        key = tuple(values.values())
        before = counts[key]
        for row in read_rows(path, file, values, before):
            counts[key] += 1
            yield row


def _executed_text(source: str) -> str:
    """Return a program that executes a text as the released evaluator does: any exception fails, ``SystemExit`` too."""
    return (
        "import builtins\n"
        "builtins.exit = builtins.quit = None\n"
        "try:\n"
        f"    exec({source!r}, {{}})\n"
        "except BaseException as error:\n"
        '    print(f"failed: {error}")\n'
        "    raise SystemExit(1)\n"
    )


def _suite_class(name: str) -> type[FimSuite]:
    about = description(name)
    labels = tuple(dict.fromkeys(("split", *about.fields.labels, "language", "fault")))
    labels = tuple(label for label in labels if label != "split" or "split" in about.fields.labels)
    main = tuple(label for label in labels if label != "fault")
    class_name = "".join(word.capitalize() for word in name.split("-"))
    policy = ProfileRule("Default truncation policy", paper=about.paper_policy, default="syntax", by_suite=True)
    return type(
        class_name,
        (FimSuite,),
        {
            "__module__": __name__,
            "__doc__": f"{about.title}: {about.about}.",
            "name": name,
            "title": about.title,
            "about": about.about,
            "needs": f"caretbench pull {name}" if about.url else "its data: --data PATH",
            "strata": labels,
            "about_data": about,
            "profile_rules": type(f"{class_name}Profile", (FimProfile,), {"policy": policy}),
            "stratification": Stratification(labels=labels, crossed=(), main_labels=main, heat_maps=()),
        },
    )


for _name in conventional_names():
    register(_suite_class(_name))
