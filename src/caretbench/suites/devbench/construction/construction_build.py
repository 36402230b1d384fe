"""The command ``caretbench build devbench``: scenarios, answers of generators, checks, instances."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from caretbench.execution.dispatcher import Dispatcher, open_executor
from caretbench.files import sha256_text
from caretbench.judging.model_families import model_family
from caretbench.problem import Problem
from caretbench.progress import Progress
from caretbench.suites.build_models import AnswersMissingError, BuildModels, BuildRequest
from caretbench.suites.devbench.cells.cell_tables import cell_categories
from caretbench.suites.devbench.construction.build_folder import (
    ATTEMPTS_FILE,
    INSTANCES_FILE,
    REQUESTS_FILE,
    VALIDITY_FILE,
    BuildFolder,
    StoredAnswer,
)
from caretbench.suites.devbench.construction.build_rows import (
    BuiltInstance,
    ConstructionManifest,
    InstanceAttempt,
    InstanceRequest,
)
from caretbench.suites.devbench.construction.build_summary import build_summary
from caretbench.suites.devbench.construction.candidates import (
    ExaminedAnswer,
    InstanceCandidate,
    InstanceExamination,
    ProgramOfAnswer,
)
from caretbench.suites.devbench.construction.cell_counts import Cell, instances_per_cell
from caretbench.suites.devbench.construction.generator_prompt import PAPER_SAMPLING, GeneratorTemplate, read_template
from caretbench.suites.devbench.construction.options import GENERATOR_ROLE, ConstructionOptions
from caretbench.suites.devbench.construction.people_changes import check_edited_files, rejected_instances
from caretbench.suites.devbench.construction.public_sets import add_public_sets
from caretbench.suites.devbench.construction.track_list import TrackList
from caretbench.suites.devbench.instance_rules.instance_checks import instance_band, instance_kind
from caretbench.suites.devbench.instance_rules.program_view import ProgramView
from caretbench.suites.suite_types import BuildResult, ProblemGate
from caretbench.validation.reviewed import problem_hash
from caretbench.validation.texts.twins import TwinIndex
from caretbench.versions import versions

GateOpener = Callable[[Callable[[], Dispatcher], Callable[[int], None]], ProblemGate]
"""Returns the suite's gate for an executor and a receiver of progress."""


def build_instances(
    output: Path,
    values: Mapping[str, Any],
    progress: Progress,
    gate: GateOpener,
    program: ProgramOfAnswer,
    models: BuildModels,
) -> BuildResult:
    """Build instances into a folder, or go on with it.

    Raises:
        ValueError: an option is wrong, or no generator is named.
        DataError: a file is malformed, or the folder holds something else.
        AnswersMissingError: a generator did not answer; what came is examined and stored.
    """
    options = ConstructionOptions.of(values)
    if GENERATOR_ROLE not in models.roles:
        raise ValueError(f"build devbench needs a generator: -m {GENERATOR_ROLE}=PROVIDER/MODEL")
    folder = BuildFolder(output)
    known = folder.manifest()
    seed = options.scenario_seed
    if seed is None:
        seed = known.seed if known is not None else secrets.randbelow(1 << 31)
    manifest = known or ConstructionManifest(seed=seed, canary=f"caretbench canary {secrets.token_hex(16)}")
    manifest = manifest.model_copy(update={"seed": seed, "options": options.model_dump(mode="json")})
    counts = instances_per_cell(options)
    template = read_template(options.template)
    tracks = TrackList(options, models.names(GENERATOR_ROLE), counts, seed)
    output.mkdir(parents=True, exist_ok=True)
    folder.write_manifest(manifest)
    executor = open_executor(values["jobs"])
    build = InstanceBuild(
        options, folder, manifest, counts, models, progress, gate, program, executor, tracks, template
    )
    return build.run()


@dataclass
class InstanceBuild:
    """One build: rounds of requests until each cell has its instances, or no scenario is left."""

    options: ConstructionOptions
    folder: BuildFolder
    manifest: ConstructionManifest
    counts: Mapping[Cell, int]
    models: BuildModels
    progress: Progress
    open_gate: GateOpener
    program: ProgramOfAnswer
    executor: Dispatcher
    tracks: TrackList
    template: GeneratorTemplate
    instances: dict[str, BuiltInstance] = field(default_factory=dict)
    problems: dict[str, Problem] = field(default_factory=dict)
    twins: TwinIndex = field(default_factory=TwinIndex)

    def run(self) -> BuildResult:
        """Ask, examine and store in rounds; return the result."""
        started = time.monotonic()
        self._open()
        counters = self.tracks.counters
        self.progress("instances", 0, sum(self.counts.values()) * len(counters))
        self.progress("instances", sum(self._held(cell, one) for cell in self.counts for one in counters), None)
        complaint: AnswersMissingError | None = None
        while complaint is None:
            requests = self._next_requests()
            if not requests:
                break
            complaint = self._ask(requests)
            answers = self.folder.answers()
            ready = [(one, answers[one.generator, one.key]) for one in requests if (one.generator, one.key) in answers]
            self._examine(ready)
        self._finish(time.monotonic() - started)
        if complaint is not None:
            raise complaint
        return self._result()

    # --- state ------------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Read the folder, apply a review's rejections, and check files that people edited."""
        self.instances = self.folder.instances()
        self.tracks.read(self.folder.requests(), self.folder.attempts())
        if self.options.again is not None:
            self._reject(self.options.again)
        self._drop_rejected()
        self.problems = {problem.id: problem for problem in self.folder.problems()}
        for line in check_edited_files(self.folder, self.instances, self.problems):
            self.progress.note(line)
        for line in add_public_sets(self.twins, self.options.compare):
            self.progress.note(line)
        for problem in self.problems.values():
            self._add_twin(problem)

    def _reject(self, review: Path) -> None:
        for row, detail in rejected_instances(review, self.folder.problems(), self.instances):
            track = self.tracks.get(row.track)
            last = track.requests[-1] if track is not None else None
            if track is None or last is None:
                self.progress.note(f"{row.id}: rejected, and not of this build; take its file out by hand")
                continue
            end = _end(last, "rejected", f"reviewers rejected it: {detail}", instance=row.id)
            self.folder.append(ATTEMPTS_FILE, end)
            self.tracks.end(end)
            self.progress.note(f"{row.id}: rejected ({detail}); it is asked for again")

    def _drop_rejected(self) -> None:
        """Take instances out whose track says that they were rejected."""
        for name, row in list(self.instances.items()):
            track = self.tracks.get(row.track)
            ends = track.ends.values() if track is not None else ()
            if any(end.outcome == "rejected" and (end.instance, end.attempt) == (name, row.attempts) for end in ends):
                self.folder.reject_instance(name, row.attempts)
                del self.instances[name]
        if (self.folder.path / INSTANCES_FILE).exists():
            self.folder.write_instances(self.instances)

    def _held(self, cell: Cell, counter: str) -> int:
        return self.tracks.held(cell, counter, self.instances.values())

    def _add_twin(self, problem: Problem) -> None:
        language, category, _ = problem.id.split("/", 2)
        self.twins.add(problem.id, language, f"{language}/{category}", ProgramView.of(problem).shown)

    def _related(self, request: InstanceRequest) -> list[str]:
        """Return the ids of instances and candidates of the same scenario, siblings included."""
        own = request.scenario.id.removesuffix("-sibling")
        return [row.id for row in self.instances.values() if row.scenario.id.removesuffix("-sibling") == own]

    # --- requests ---------------------------------------------------------------------------------------------------

    def _next_requests(self) -> list[InstanceRequest]:
        """Return the requests of the next round, stored before they are sent."""
        answers = self.folder.answers()
        found: list[InstanceRequest] = []
        stored = self.tracks.request_keys()
        for cell in self.counts:
            held = [row.summary for row in self.instances.values() if row.scenario.cell == "/".join(cell)]
            for track in self.tracks.open_tracks(cell, self.instances.values()):
                original = self.problems.get(track.scenario.sibling_of or "")
                request = track.next_request(self.options.repairs, self.template, held, answers, original)
                if request is not None:
                    found.append(request)
        new = [one for one in found if one.key not in stored]
        if new:
            self.folder.append(REQUESTS_FILE, *new)
        return found

    def _ask(self, requests: Sequence[InstanceRequest]) -> AnswersMissingError | None:
        """Ask the generators; return the error if answers are missing."""
        asked: dict[str, list[BuildRequest]] = {}
        for one in requests:
            about = f"{one.scenario.cell}, {one.scenario.domain}"
            asked.setdefault(one.generator, []).append(BuildRequest(one.key, one.prompt, PAPER_SAMPLING, about))
        try:
            self.models.ask_each(GENERATOR_ROLE, asked)
        except AnswersMissingError as error:
            return error
        return None

    # --- answers ----------------------------------------------------------------------------------------------------

    def _examine(self, answers: Sequence[tuple[InstanceRequest, StoredAnswer]]) -> None:
        """Examine answers and store what became of each."""
        stored = {request.key: answer for request, answer in answers}
        gate = self.open_gate(lambda: self.executor, lambda _count: None)
        examination = InstanceExamination(
            gate, self.executor.programs, self.program, self.folder.path / VALIDITY_FILE, self.twins, self._related,
            self.options.unverified,
        )  # fmt: skip
        for result in examination.examine(answers):
            name = self._accept(result) if result.candidate is not None else None
            answer = stored[result.request.key]
            end = _end(result.request, result.outcome, result.detail, result.checks, name, answer)
            self.folder.append(ATTEMPTS_FILE, end)
            self.tracks.end(end)
            if name is not None and not result.request.scenario.sibling_of:
                self.progress("instances", 1, None)

    def _accept(self, result: ExaminedAnswer) -> str:
        """Write the files and the row of an instance; return its id."""
        candidate = result.candidate
        assert candidate is not None  # noqa: S101  # the caller has looked
        name = self._free_name(candidate)
        self.folder.write_instance(name, candidate.content)
        row = self._row(name, candidate, result)
        self.folder.append(INSTANCES_FILE, row)
        self.instances[name] = row
        problem = candidate.problem.model_copy(update={"id": name})
        self.problems[name] = problem
        self.twins.remove(candidate.problem.id)
        self._add_twin(problem)
        return name

    def _free_name(self, candidate: InstanceCandidate) -> str:
        """Return the id of a new instance; one of the same track that was stored before a stop keeps its id."""
        base = f"{candidate.cell}/{candidate.instance.stem}"
        number = 1
        while True:
            name = base if number == 1 else f"{base}-{number}"
            row = self.instances.get(name)
            if (row is None and name not in self.problems) or (
                row is not None and row.track == candidate.request.track
            ):
                return name
            number += 1

    def _row(self, name: str, candidate: InstanceCandidate, result: ExaminedAnswer) -> BuiltInstance:
        request, problem = candidate.request, candidate.problem
        view, category = ProgramView.of(problem), cell_categories()[request.scenario.category]
        return BuiltInstance(
            id=name,
            track=request.track,
            scenario=request.scenario,
            generator=request.generator,
            generator_family=model_family(request.generator) or request.generator,
            prompt_version=self.template.key,
            attempts=request.attempt,
            cost=self._cost(request.track),
            justification=candidate.instance.justification,
            library=candidate.instance.library,
            kind=instance_kind(view, category, request.scenario.kind),
            band=instance_band(view, category, request.scenario.band),
            boundary=problem.label("boundary"),
            mode=problem.label("mode"),
            checks=result.checks,
            killed_by=result.killed_by,
            licence=self.options.licence,
            created=datetime.now(UTC).date().isoformat(),
            sibling=request.scenario.sibling_of,
            text_hash=sha256_text(candidate.content.text),
            problem_hash=problem_hash(problem),
        )

    def _cost(self, track: str) -> float | None:
        answers = self.folder.answers()
        own = self.tracks.get(track)
        keys = {(one.generator, one.key) for one in own.requests} if own is not None else set()
        costs = [answers[key].cost for key in keys if key in answers]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    # --- result -----------------------------------------------------------------------------------------------------

    def _finish(self, wall_s: float) -> None:
        self.folder.write_instances(self.instances)
        ends = self.folder.attempts()
        yields: dict[str, Counter[str]] = {}
        for end in ends:
            yields.setdefault(end.cell, Counter())[end.outcome] += 1
        answers = self.folder.answers().values()
        costs = [answer.cost for answer in answers]
        known = [cost for cost in costs if cost is not None]
        self.manifest = self.manifest.model_copy(
            update={
                "instances": dict(sorted(Counter(row.scenario.cell for row in self.instances.values()).items())),
                "yields": {cell: dict(sorted(counts.items())) for cell, counts in sorted(yields.items())},
                "models": self.models.names(GENERATOR_ROLE),
                "cost": sum(known) if len(known) == len(costs) else None,
                "hours": sum(answer.latency.last_s for answer in answers if answer.latency is not None) / 3600,
                "wall_hours": self.manifest.wall_hours + wall_s / 3600,
                "versions": versions(),
            }
        )
        self.folder.write_manifest(self.manifest)

    def _result(self) -> BuildResult:
        return build_summary(self.folder, self.manifest, self.counts, self.tracks.counters, self._held)


def _end(
    request: InstanceRequest,
    outcome: Any,
    detail: str,
    checks: Mapping[str, str] | None = None,
    instance: str | None = None,
    answer: StoredAnswer | None = None,
) -> InstanceAttempt:
    return InstanceAttempt(
        request=request.key,
        track=request.track,
        scenario=request.scenario.id,
        cell=request.scenario.cell,
        generator=request.generator,
        attempt=request.attempt,
        outcome=outcome,
        detail=detail,
        checks=checks or {},
        instance=instance,
        cost=answer.cost if answer is not None else None,
        seconds=answer.latency.last_s if answer is not None and answer.latency is not None else None,
    )
