"""The command ``caretbench build devbench``: scenarios, answers of generators, checks, instances."""

from __future__ import annotations

import secrets
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from caretbench.build.build_models import AnswersMissingError, BuildJob, BuildModels, BuildRequest, ExpectedRequests
from caretbench.build.sources.licences import RedistributionError, redistribution_terms
from caretbench.build.validation.resumable_gate import ProblemGate
from caretbench.errors import DataError, UsageError
from caretbench.execution.dispatcher import Dispatcher, open_executor
from caretbench.execution.toolchains import load_runtime
from caretbench.files import RowAppender, remove_partial_files
from caretbench.progress import Progress
from caretbench.suites.devbench.build.construction.build_folder import (
    GENERATOR_ROLE,
    LOCK_FILE,
    LONGEST_DIAGNOSIS,
    LONGEST_SUMMARY,
    REQUESTS_FILE,
    VALIDITY_FILE,
    BuildFolder,
    ConstructionManifest,
    ConstructionOptions,
    InstanceRequest,
    sum_of_costs,
)
from caretbench.suites.devbench.build.construction.candidates import InstanceExamination
from caretbench.suites.devbench.build.construction.gate_runs import GateRuns, ProgramOfAnswer
from caretbench.suites.devbench.build.construction.instance_store import (
    InstanceStore,
    add_public_sets,
    attempt_end,
    edited_instances,
    rejected_instances,
)
from caretbench.suites.devbench.build.construction.scenario_grid import (
    PAPER_SAMPLING,
    Cell,
    GeneratorTemplate,
    counts_to_restore,
    instances_per_cell,
    read_template,
    weights_notes,
)
from caretbench.suites.devbench.build.construction.tracks import SHOWN_CHARACTERS, TrackList, read_tracks
from caretbench.suites.suite_types import BuildResult
from caretbench.text_tables import align_columns, counted
from caretbench.versions import versions


def start_of_build(
    options: ConstructionOptions, folder: BuildFolder, *, has_generator: bool
) -> tuple[ConstructionOptions, Mapping[Cell, int], ConstructionManifest]:
    """Return the options of a build, the number of instances of each cell, and the new manifest.

    Options that are not set are the folder's.

    Raises:
        UsageError: no generator is named, or the seed is not the folder's.
        DataError: a file is malformed, or there is nothing that a review could have rejected.
    """
    if not has_generator:
        raise UsageError(_without_generator(folder))
    manifest = folder.manifest()
    if manifest is None:
        seed = options.scenario_seed if options.scenario_seed is not None else secrets.randbelow(1 << 31)
        manifest = ConstructionManifest(seed=seed, canary=f"caretbench canary {secrets.token_hex(16)}")
    elif options.scenario_seed not in {None, manifest.seed}:
        raise UsageError(
            f"--scenario-seed {options.scenario_seed}: the scenarios of {folder.path} have the seed {manifest.seed}; "
            "leave the option out, or choose another folder with -o"
        )
    restores = options.again is not None and not (options.per_cell or options.languages or options.categories)
    # What a folder was begun with holds for what is added.
    kept = {name: manifest.options.get(name) for name in ("per_cell", "licence") if getattr(options, name) is None}
    options = options.model_copy(update=kept)
    if restores and options.weights is None:
        counts = counts_to_restore(manifest, folder.instances(), every_generator=options.every_generator)
        _check_review(options.again, folder, counts)
    else:
        counts = instances_per_cell(options)
    return options, counts, manifest.model_copy(update={"options": options.model_dump(mode="json")})


def installed_toolchains(languages: Iterable[str]) -> dict[str, str]:
    """Return the version of the installed toolchain of each language that has one."""
    toolchains = {name: load_runtime(name).toolchain() for name in languages}
    return {name: toolchain.version for name, toolchain in toolchains.items() if toolchain.available}


def _without_generator(folder: BuildFolder) -> str:
    """Return the complaint about a build without a generator; it names those of the folder's earlier builds."""
    manifest = folder.manifest()
    names = manifest.models if manifest is not None else ()
    names = names or tuple(sorted({request.generator for request in folder.requests()}))
    option = f"-m {GENERATOR_ROLE}=PROVIDER/MODEL"
    if not names:
        return f"build devbench needs a generator: {option}"
    return (
        f"{folder.path}: its generators are {', '.join(names)}; name them again ({option}): a folder may come from "
        "somebody else, so that it starts no program, opens no file of weights and sends nothing to an address"
    )


def _check_review(review: Path | None, folder: BuildFolder, counts: Mapping[Cell, int]) -> None:
    """Raise an error if the folder has no instances that a review could have rejected."""
    if review is None or any(counts.values()):
        return
    rejected_instances(review, {}, {})  # a missing file is the first fault
    raise DataError(
        f"--again {review}: {folder.path} has no instances; -o names the folder whose instances were reviewed"
    )


_SHOWN_CELLS: Final = 6


def _attempts_line(outcomes: Counter[str]) -> str:
    """Return the sum of the attempts: how many became instances, and why the others did not."""
    rest = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common() if outcome != "instance")
    why = f"; {rest} (attempts.jsonl has the diagnoses)" if rest else ""
    return f"{counted(outcomes.total(), 'answer')}: {counted(outcomes['instance'], 'instance')}{why}"


def _missing_line(quoted: str, short: Sequence[str], manifest: ConstructionManifest) -> str:
    """Return the last line of a build that did not fill each cell: what is missing, and how to go on."""
    more = f" and {len(short) - _SHOWN_CELLS} more" if len(short) > _SHOWN_CELLS else ""
    return (
        f"{quoted}: no scenario is left for {'; '.join(short[:_SHOWN_CELLS])}{more}. Go on with the same command and a "
        f"higher --patience (now {manifest.options.get('patience')})"
    )


def _cell_table(manifest: ConstructionManifest, counts: Mapping[Cell, int]) -> Iterator[str]:
    rows = []
    for cell, asked in counts.items():
        name = "/".join(cell)
        yields = manifest.yields.get(name, {})
        rest = ", ".join(f"{count} {outcome}" for outcome, count in yields.items() if outcome != "instance")
        rows.append((name, str(manifest.instances.get(name, 0)), str(asked), str(sum(yields.values())), rest))
    yield from align_columns(rows, ("cell", "instances", "wanted", "attempts", "without an instance"))


_STORED_EVERY_S: Final = 10.0
"""Seconds after which the hours of a build are stored again."""
GateOpener = Callable[[Callable[[], Dispatcher], Callable[[int], None]], ProblemGate]
"""Returns the suite's gate for an executor and a receiver of progress."""


def build_instances(job: BuildJob, gate: GateOpener, program: ProgramOfAnswer) -> BuildResult:
    """Build instances into a folder, or go on with it.

    Raises:
        ValueError: an option is wrong, or no generator is named.
        DataError: a file is malformed, the folder holds something else, or another process builds into it.
        AnswersMissingError: a generator did not answer; what came is examined and stored.
    """
    _, output, values, progress, models = job
    folder = BuildFolder(output)
    options, counts, manifest = start_of_build(
        ConstructionOptions.of(values), folder, has_generator=GENERATOR_ROLE in models.roles
    )
    toolchains = installed_toolchains(dict.fromkeys(name for name, _ in counts))
    template = read_template(options.template).model_copy(update={"toolchains": toolchains})
    output.mkdir(parents=True, exist_ok=True)
    with RowAppender(output / LOCK_FILE):  # one build of a folder at a time
        # Files are written under another name first; a kill leaves those behind.
        remove_partial_files(output, "*/*/")
        folder.write_manifest(manifest)
        generators = models.names(GENERATOR_ROLE)
        earlier = read_tracks(folder.requests(), folder.attempts(), generators)
        tracks = TrackList(options, generators, counts, manifest.seed, earlier)
        store = InstanceStore(folder, tracks, template.key, options.licence)
        executor = open_executor(values["jobs"])
        opened = gate(lambda: executor, lambda _count: None)
        runs = GateRuns(opened, executor.programs, program, output / VALIDITY_FILE, options.unverified)
        examination = InstanceExamination(runs, store.twins, store.related, lambda name: store.problems.get(name))
        build = InstanceBuild(options, folder, manifest, counts, template, models, progress, tracks, store, examination)
        return build.run()


@dataclass
class InstanceBuild:
    """One build: rounds of requests until each cell has its instances, or no scenario is left."""

    options: ConstructionOptions
    folder: BuildFolder
    manifest: ConstructionManifest
    counts: Mapping[Cell, int]
    template: GeneratorTemplate
    models: BuildModels
    progress: Progress
    tracks: TrackList
    store: InstanceStore
    examination: InstanceExamination
    _stored_at: float = field(default_factory=time.monotonic)
    """Time up to which the manifest counts the hours of the build."""

    def run(self) -> BuildResult:
        """Ask, examine and store in rounds; return the result."""
        self._open()
        counters = self.tracks.counters
        self.progress("instances", 0, sum(self.counts.values()) * len(counters))
        there = sum(self._instance_count(cell, counter) for cell in self.counts for counter in counters)
        self.progress("instances", there, None)
        complaint: AnswersMissingError | None = None
        while complaint is None:
            requests = self._next_requests()
            if not requests:
                break
            complaint = self._ask(requests)
            self._store_hours()
            self._examine(requests)
        self._finish()
        # After everything that did come was examined and stored: a broken connection costs no paid answer.
        if complaint is not None:
            complaint.expected = self._expected()
            raise complaint
        return self._summary()

    def _summary(self) -> BuildResult:
        """Return the printed result: instances and attempts of the cells of this build, and what became of attempts."""
        manifest, total = self.manifest, sum(self.manifest.instances.values())
        short = [
            f"{'/'.join(cell)}{f' by {counter}' if counter else ''}: {number} of {count}"
            for cell, count in self.counts.items()
            for counter in self.tracks.counters
            if (number := self._instance_count(cell, counter)) < count
        ]
        outcomes = sum(map(Counter, manifest.yields.values()), Counter[str]())
        cost = f"${manifest.cost:.2f}" if manifest.cost is not None else "cost not known"
        quoted = shlex.quote(str(self.folder.path))
        text = [
            *_cell_table(manifest, self.counts),
            "",
            _attempts_line(outcomes),
            f"{quoted}: {counted(total, 'instance')}; {cost}, {manifest.request_hours:.2f} hours of requests; "
            f"caretbench run devbench --data {quoted} -m …",
        ]
        if short:
            text.append(_missing_line(quoted, short, manifest))
        numbers = {**manifest.model_dump(mode="json"), "output": str(self.folder.path), "short": short}
        return BuildResult(tuple(text), numbers, usable=total > 0 and not short)

    def _expected(self) -> ExpectedRequests:
        """Return the numbers of requests that are still needed."""
        least, most = self.tracks.expected(self.store.rows.values())
        generators = len(self.models.names(GENERATOR_ROLE))
        instances = sum(self.counts.values()) * len(self.tracks.counters)
        # A later request lists the cell's instances; a repair quotes the answer and its diagnosis.
        listed = max(self.counts.values(), default=0) * len(self.tracks.counters) * LONGEST_SUMMARY
        return ExpectedRequests(
            GENERATOR_ROLE,
            least,
            most,
            f"each of {instances:,} instances accepted at its first answer",
            f"{self.options.patience} scenarios for each instance (--patience), {1 + self.options.repairs} answers of "
            f"each generator to each scenario (--repairs {self.options.repairs}; generators: {generators})",
            listed * (2 if self.options.siblings else 1) + SHOWN_CHARACTERS + LONGEST_DIAGNOSIS,
        )

    def _open(self) -> None:
        """Read the folder; take over what people rejected, edited or deleted."""
        self.store.read()
        if self.options.again is not None:
            rejected, lines = rejected_instances(self.options.again, self.store.problems, self.store.rows)
            for line in lines:
                self.progress.note(line)
            if not rejected:
                self.progress.note(
                    f"--again {self.options.again}: no rejection is of an instance of {self.folder.path}; the results "
                    "are of another set, of changed texts, or accept the instances"
                )
            for row, detail in rejected:
                made = self.store.reject(row, f"reviewers rejected it: {detail}")
                rest = "it is asked for again" if made else "it was not built in this folder: delete its file yourself"
                self.progress.note(f"{row.id}: rejected ({detail}); {rest}")
        # A list, because rejections change the rows that the iterator reads.
        for edit in list(edited_instances(self.folder, self.store.rows, self.store.problems, self.examination)):
            if edit.row is None:
                self.store.reject(self.store.rows[edit.id], "its file was deleted")
            else:
                self.store.rows[edit.id] = edit.row
            self.progress.note(f"{edit.id}: {edit.about}")
        self.folder.write_instances(self.store.rows)
        self.store.read()  # without the rejected ones
        if self.options.licence:
            try:
                redistribution_terms(self.options.licence)
            # Only a note: a set may be meant for its builder alone.
            except RedistributionError as error:
                self.progress.note(
                    f"--licence {self.options.licence}: {error}; a release of these instances is refused"
                )
        for line in weights_notes(self.options):
            self.progress.note(line)
        for line in add_public_sets(self.store.twins, self.options.compare):
            self.progress.note(line)

    def _instance_count(self, cell: Cell, counter: str) -> int:
        return self.tracks.instance_count(cell, counter, self.store.rows.values())

    def _next_requests(self) -> list[InstanceRequest]:
        """Return the requests of the next round, stored before they are sent."""
        requests: list[InstanceRequest] = []
        stored = {request.key for track in self.tracks.tracks.values() for request in track.requests}
        for cell in self.counts:
            existing = list(self.store.summaries("/".join(cell)))
            for track in self.tracks.open_tracks(cell, self.store.rows.values()):
                original = self.store.problems.get(track.scenario.sibling_of or "")
                request = track.next_request(
                    self.options.repairs, self.template, existing, self.store.answers, original
                )
                if request is not None:
                    requests.append(request)
        # A request shows what its cell holds, which later answers change. A resumed build that wrote the text anew
        # would pay twice.
        if new := [request for request in requests if request.key not in stored]:
            self.folder.append(REQUESTS_FILE, *new)
        return requests

    def _ask(self, requests: Sequence[InstanceRequest]) -> AnswersMissingError | None:
        """Ask the generators; return the error if answers are missing."""
        asked: dict[str, list[BuildRequest]] = {}
        for request in requests:
            about = f"{request.scenario.cell}, {request.scenario.domain}"
            asked.setdefault(request.generator, []).append(
                BuildRequest(request.key, request.prompt, PAPER_SAMPLING, about)
            )
        error = None
        try:
            self.models.ask_each(GENERATOR_ROLE, asked)
        except AnswersMissingError as missing:
            error = missing
        self.store.answers = self.folder.answers()
        return error

    def _examine(self, requests: Sequence[InstanceRequest]) -> None:
        """Examine the answers that came, and store what became of each."""
        answers = self.store.answers
        keys = [(request, (request.generator, request.key)) for request in requests]
        ready = [(request, answers[key]) for request, key in keys if key in answers]
        for result in self.examination.examine(ready):
            request = result.request
            # A gate of many instances takes minutes, and a kill in it would lose them from the manifest.
            if time.monotonic() - self._stored_at > _STORED_EVERY_S:
                self._store_hours()
            if result.candidate is not None:
                self.store.accept(result.candidate, result.checks, result.killed_by)
                self.progress("instances", 0 if request.scenario.sibling_of else 1, None)
                continue
            answer = answers[request.generator, request.key]
            self.store.end(attempt_end(request, result.outcome, result.detail, result.checks, answer=answer))

    def _store_hours(self) -> None:
        """Add the time since the last call to the hours of the manifest, so that a kill loses little of it."""
        now = time.monotonic()
        hours = self.manifest.wall_hours + (now - self._stored_at) / 3600
        self._stored_at = now
        self.manifest = self.manifest.model_copy(update={"wall_hours": hours})
        self.folder.write_manifest(self.manifest)

    def _finish(self) -> None:
        self.folder.write_instances(self.store.rows)
        yields: dict[str, Counter[str]] = {}
        last = {end.request: end for end in self.folder.attempts()}  # a rejection replaces the first end
        for end in last.values():
            yields.setdefault(end.cell, Counter())[end.outcome] += 1
        answers = self.store.answers.values()
        cells = Counter(row.scenario.cell for row in self.store.rows.values())
        self.manifest = self.manifest.model_copy(
            update={
                "instances": dict(sorted(cells.items())),
                "yields": {cell: dict(sorted(counts.items())) for cell, counts in sorted(yields.items())},
                "models": self.models.names(GENERATOR_ROLE),
                "cost": sum_of_costs([answer.cost for answer in answers]),
                "request_hours": sum(answer.latency.last_s for answer in answers if answer.latency is not None) / 3600,
                "versions": versions(),
            }
        )
        self._store_hours()
