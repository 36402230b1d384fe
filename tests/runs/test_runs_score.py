from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from caretbench.execution.dispatcher import AnyRequest
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Status
from caretbench.execution.scan.tamper import SCAN_VERSION
from caretbench.extraction.policies import get_policy
from caretbench.files import DataError, write_rows
from caretbench.problem import Completion, Problem, Profile, Score
from caretbench.runs.run_folder import DataInfo, Manifest, ModelInfo, RunFolder
from caretbench.runs.score import ScoringStage
from caretbench.runs.session import check_resumable
from caretbench.runs.verdict import EXECUTION_SCORER
from caretbench.suites import load_suite
from caretbench.suites.answer_kinds import ERROR_KINDS_SCORER
from caretbench.suites.suite_types import Measurement
from tests.support.fakes import FakeExecutor
from tests.support.make_problem import MakeProblem


def right(request: ExecutionRequest) -> Status:
    return Status.PASSED if "return 2 * x" in request.source else Status.FAILED


def scoring(
    folder: Path,
    problems: Sequence[Problem],
    executor: FakeExecutor | None,
    profile: str = "default",
    cut: str = "syntax",
) -> ScoringStage:
    return ScoringStage(
        load_suite("devbench"), problems, RunFolder(folder), get_policy(cut), profile, executor,  # type: ignore[arg-type]
    )  # fmt: skip


def rows(folder: Path) -> list[Score]:
    return list(RunFolder(folder).scores())


def executed(row: Score) -> bool:
    return row.scorer.startswith(EXECUTION_SCORER)


def test_every_completion_gets_each_score_once(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    executor = FakeExecutor(right)
    stage = scoring(tmp_path, [problem], executor)
    answers = ["    return 2 * x\n", "    return x\n", None]
    stage.add_completions(
        Completion(problem_id=problem.id, model="m", sample=sample, text=text) for sample, text in enumerate(answers)
    )
    assert stage.run() == {}
    passed = {row.sample: row.values["passed"] for row in rows(tmp_path) if row.model == "m" and executed(row)}
    assert passed == {0: 1.0, 1: 0.0, 2: 0.0}
    before = rows(tmp_path)
    asked = len(executor.asked)
    stage.run()
    assert rows(tmp_path) == before
    assert len(executor.asked) == asked
    assert len({row.key for row in before}) == len(before)


def test_a_problem_whose_reference_answer_fails_here_is_left_out(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem(reference="    return None\n")
    stage = scoring(tmp_path, [problem], FakeExecutor(right))
    stage.add_completions([Completion(problem_id=problem.id, model="m", text="    return 2 * x\n")])
    assert stage.run() == {"reference: failed": [problem.id]}
    [row] = [row for row in rows(tmp_path) if row.model == "m" and executed(row)]
    assert (row.counted, row.outcome, row.values) == (False, "excluded", {})


class Backwards(FakeExecutor):
    """Takes requests until the next one depends on a result, and answers the last one first."""

    def __init__(self, decide: Callable[[ExecutionRequest], Status]) -> None:
        super().__init__(decide)
        self.taken: list[list[ExecutionRequest]] = []

    def submit(self, requests: Iterable[AnyRequest | None]) -> Iterator[ExecutionResult]:
        source = iter(requests)
        while taken := list(iter(lambda: next(source, None), None)):
            self.taken.append(taken)  # type: ignore[arg-type]
            yield from super().submit(reversed(taken))


def test_answers_run_after_the_verdict_on_their_reference(tmp_path: Path, make_problem: MakeProblem) -> None:
    sound = make_problem()
    broken = make_problem("python/low_context/broken", reference="    return None\n")
    executor = Backwards(right)
    stage = scoring(tmp_path, [sound, broken], executor)
    answers = ("    return 2 * x\n", "    return x\n", None)
    stage.add_completions(
        Completion(problem_id=problem.id, model="m", sample=sample, text=text)
        for problem in (sound, broken)
        for sample, text in enumerate(answers)
    )
    assert stage.run() == {"reference: failed": [broken.id]}
    found = {(row.problem_id, row.sample): row.outcome for row in rows(tmp_path) if row.model == "m" and executed(row)}
    assert [found[sound.id, sample] for sample in range(3)] == ["passed", "failed", "failed"]
    assert {found[broken.id, sample] for sample in range(3)} == {"excluded"}
    assert len(rows(tmp_path)) == len({row.key for row in rows(tmp_path)})
    # Two references, then the three answers to the problem whose reference passes; no program of the other one.
    assert [len(taken) for taken in executor.taken] == [2, 3]


@pytest.mark.parametrize(("profile", "bound"), [("default", 0.25), ("paper", None)])
def test_the_reference_bounds_the_cpu_time_of_answers_under_default(
    tmp_path: Path, make_problem: MakeProblem, profile: Profile, bound: float | None
) -> None:
    class Measured(Backwards):
        def submit(self, requests: Iterable[AnyRequest | None]) -> Iterator[ExecutionResult]:
            for result in super().submit(requests):
                yield result.model_copy(update={"cpu_s": 0.25})

    problem = make_problem()
    executor = Measured(right)
    stage = scoring(tmp_path, [problem], executor, profile)
    stage.add_completions([Completion(problem_id=problem.id, model="m", text="    return x\n")])
    stage.run()
    [reference], [answer] = executor.taken
    assert (reference.reference_cpu_s, answer.reference_cpu_s) == (None, bound)
    # A later run knows the reference's time from its row.
    stage.add_completions([Completion(problem_id=problem.id, model="other", text="    return 3\n")])
    stage.run()
    assert executor.taken[-1][-1].reference_cpu_s == bound


def test_a_module_that_the_reference_program_lacks_is_ours(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem(prefix="import numpy\ndef double(x):\n")
    stage = scoring(tmp_path, [problem], FakeExecutor(lambda _request: Status.UNRESOLVED_IMPORT))
    assert stage.run() == {"missing dependency: numpy": [problem.id]}


def test_a_module_that_only_the_completion_wants_is_the_models_failure(
    tmp_path: Path, make_problem: MakeProblem
) -> None:
    problem = make_problem()
    executor = FakeExecutor(lambda r: Status.UNRESOLVED_IMPORT if "numpy" in r.source else Status.PASSED)
    stage = scoring(tmp_path, [problem], executor)
    stage.add_completions([Completion(problem_id=problem.id, model="m", text="    import numpy\n    return 2 * x\n")])
    stage.run()
    [row] = [row for row in rows(tmp_path) if row.model == "m" and executed(row)]
    assert (row.counted, row.outcome, row.values["passed"]) == (True, "unresolved_import", 0.0)


def test_our_own_failures_are_never_counted(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    executor = FakeExecutor(lambda r: Status.PASSED if "2 * x" in r.source else Status.SANDBOX_ERROR)
    stage = scoring(tmp_path, [problem], executor)
    stage.add_completions([Completion(problem_id=problem.id, model="m", text="    return 0\n")])
    stage.run()
    [row] = [row for row in rows(tmp_path) if row.model == "m" and executed(row)]
    assert (row.counted, row.values) == (False, {})


def test_a_reference_answer_that_took_too_long_is_tried_again(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    slow = scoring(tmp_path, [problem], FakeExecutor(lambda _request: Status.TIMEOUT))
    assert slow.run() == {"reference: timeout": [problem.id]}
    assert scoring(tmp_path, [problem], FakeExecutor(right)).run() == {}


def test_verdicts_on_programs_of_other_rules_are_replaced(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    scoring(tmp_path, [problem], FakeExecutor(lambda _request: Status.FAILED), "paper").run()
    stored = RunFolder(tmp_path).scores_path
    stored.write_text(stored.read_text().replace('"execution@2"', '"execution@1"'))
    executor = FakeExecutor(right)
    assert scoring(tmp_path, [problem], executor, "paper").run() == {}
    assert [row.scorer for row in rows(tmp_path) if executed(row)] == ["execution@2"]
    asked = len(executor.asked)
    assert scoring(tmp_path, [problem], executor, "paper").run() == {}
    assert len(executor.asked) == asked


def test_references_are_marked_and_a_failure_without_runs_alone_is_tried_again(
    tmp_path: Path, make_problem: MakeProblem
) -> None:
    problem = make_problem()
    stage = scoring(tmp_path, [problem], FakeExecutor(lambda _request: Status.FAILED))
    stage.add_completions([Completion(problem_id=problem.id, model="m", text="    return 0\n")])
    assert stage.run() == {"reference: failed": [problem.id]}
    # As a row of an earlier version: it may have failed under load.
    executor = FakeExecutor(right)
    assert scoring(tmp_path, [problem], executor).run() == {}
    assert [request.is_reference for request in executor.asked] == [True, False]
    found = {row.model: row.values["passed"] for row in rows(tmp_path) if executed(row)}
    assert found == {"reference": 1.0, "m": 0.0}


def test_a_failure_that_runs_alone_confirmed_is_kept(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    scoring(tmp_path, [problem], FakeExecutor(lambda _request: Status.FAILED)).run()
    stored = RunFolder(tmp_path).scores_path
    stored.write_text(stored.read_text().replace('"stage":', '"runs_alone": 3, "stage":', 1))
    executor = FakeExecutor(right)
    assert scoring(tmp_path, [problem], executor).run() == {"reference: failed": [problem.id]}
    assert executor.asked == []


def test_what_had_no_verdict_is_tried_again(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    completion = Completion(problem_id=problem.id, model="m", text=problem.reference)
    stage = scoring(tmp_path, [problem], FakeExecutor(lambda _request: Status.SKIPPED))
    stage.add_completions([completion])
    assert list(stage.run()) == ["skipped: toolchain or declared need is missing here"]
    untouched = scoring(tmp_path, [make_problem("python/low_context/other")], FakeExecutor(right))
    assert "skipped: toolchain or declared need is missing here" in untouched.run()
    again = scoring(tmp_path, [problem], FakeExecutor(right))
    assert again.run() == {}
    found = [row for row in rows(tmp_path) if executed(row) and row.problem_id == problem.id]
    assert {row.model: row.values["passed"] for row in found} == {"reference": 1.0, "m": 1.0}
    assert len(found) == 2


@pytest.mark.parametrize(("profile", "counted"), [("default", False), ("paper", True)])
def test_an_error_in_place_of_a_completion(
    tmp_path: Path, make_problem: MakeProblem, profile: str, counted: bool
) -> None:
    problem = make_problem()
    stage = scoring(tmp_path, [problem], FakeExecutor(right), profile)
    stage.add_completions([Completion(problem_id=problem.id, model="m", text="Error: API request failed", error=True)])
    stage.run()
    [row] = [row for row in rows(tmp_path) if row.model == "m" and executed(row)]
    assert row.counted is counted


def test_without_an_executor_similarity_and_error_kinds_are_scored(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    stage = scoring(tmp_path, [problem], None)
    stage.add_completions([Completion(problem_id=problem.id, model="m", text=problem.reference)])
    assert stage.run() == {}
    likeness, kinds, beginning = rows(tmp_path)
    assert (beginning.scorer, beginning.values) == ("accepted-prefix@1", {"accepted_prefix": 1.0})
    assert (likeness.scorer, likeness.values["cosine"]) == ("similarity@1", 1.0)
    assert kinds.scorer == ERROR_KINDS_SCORER
    assert set(kinds.values.values()) == {0.0}


def test_error_kinds_are_those_of_the_inserted_text(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    stage = scoring(tmp_path, [problem], None)
    stage.add_completions(
        [Completion(problem_id=problem.id, model="m", sample=n, text=t) for n, t in enumerate(["", None])]
    )
    stage.run()
    kinds = [row.values for row in rows(tmp_path) if row.scorer == ERROR_KINDS_SCORER]
    assert [{name for name, value in row.items() if value} for row in kinds] == [{"empty_when_due"}] * 2


def test_equal_texts_are_measured_once_and_rows_are_read_once(
    tmp_path: Path, make_problem: MakeProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = [make_problem("p1"), make_problem("p2")]
    stage = scoring(tmp_path, problems, None)
    stage.add_completions(
        Completion(problem_id=problem.id, model=model, sample=sample, text=f"return {sample % 2}\n")
        for model in ("a", "b", "c")
        for problem in problems
        for sample in range(4)
    )
    counts: Counter[str] = Counter()
    measured, read = stage.suite.measure_error_kinds, stage.folder.completions

    def measure(problem: Problem, text: str | None) -> list[Measurement]:
        counts["measured"] += 1
        return measured(problem, text)

    def completions() -> Iterator[Completion]:
        for row in read():
            counts["read"] += 1
            yield row

    monkeypatch.setattr(stage.suite, "measure_error_kinds", measure)
    monkeypatch.setattr(stage.folder, "completions", completions)
    stage.run()
    assert len(rows(tmp_path)) == 3 * 24
    assert counts["measured"] <= 4  # two texts of two problems; 24 while each completion was measured
    assert counts["read"] <= 24  # 48 while the rows were counted first


def test_the_text_is_cut_by_the_policy_before_it_runs(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    executor = FakeExecutor(right)
    stage = scoring(tmp_path, [problem], executor)
    fenced = "Here is the code:\n```python\n    return 2 * x\n```\n"
    stage.add_completions([Completion(problem_id=problem.id, model="m", text=fenced)])
    stage.run()
    assert "```" not in executor.asked[-1].source
    assert executor.asked[-1].source.startswith(problem.caret.prefix + "    return 2 * x")


@pytest.mark.parametrize("profile", ["default", "paper"])
def test_a_refused_answer_fails_without_a_run_where_the_empty_one_passes(
    tmp_path: Path, make_problem: MakeProblem, profile: str
) -> None:
    problem = make_problem()
    executor = FakeExecutor(lambda _request: Status.PASSED)
    stage = scoring(tmp_path, [problem], executor, profile=profile)
    texts = {"long": "x = 1\n" * 200_000, "empty": ""}
    stage.add_completions(Completion(problem_id=problem.id, model=name, text=text) for name, text in texts.items())
    stage.run()
    found = {row.model: row for row in rows(tmp_path) if executed(row)}
    assert len(executor.asked) == 2  # the reference and the empty answer
    assert found["empty"].outcome == "passed"
    assert (found["long"].counted, found["long"].values) == (True, {"passed": 0.0})
    assert found["long"].details["reason"].startswith("refused: ")
    assert "1,200,000 characters, more than 500,000" in found["long"].details["reason"]


def test_another_answer_under_an_old_key_is_refused(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    stage = scoring(tmp_path, [problem], None)
    old = Completion(problem_id=problem.id, model="m", text="old")
    assert stage.add_completions([old, old]) == 1
    assert stage.new_completions([old]) == []
    with pytest.raises(DataError, match=r"another answer .*python/low_context/one"):
        stage.new_completions([old.model_copy(update={"text": "new"})])


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    def manifest(profile: str, *models: str) -> Manifest:
        return Manifest.model_validate(
            {"suite": "devbench", "data": DataInfo(name="d", hash="h", problems=1, selected=1), "policy": "syntax@4",
             "profile": profile, "models": [ModelInfo(model=name, source="recorded") for name in models]}
        )  # fmt: skip

    folder = RunFolder(tmp_path)
    folder.write_manifest(manifest("default", "a"))
    assert [info.model for info in check_resumable(folder, manifest("default")).models] == ["a"]
    with pytest.raises(ValueError, match=r"holds another run: profile \(default there, paper now\)"):
        check_resumable(folder, manifest("paper"))


def test_the_judges_of_a_judged_run_stay_when_it_is_scored_again(tmp_path: Path) -> None:
    def manifest(*judges: str) -> Manifest:
        return Manifest.model_validate(
            {"suite": "efcb", "data": DataInfo(name="d", hash="h", problems=1, selected=1), "policy": "raw@2",
             "profile": "default", "judges": [ModelInfo(model=name, source="model") for name in judges]}
        )  # fmt: skip

    folder = RunFolder(tmp_path)
    folder.write_manifest(manifest("g"))
    assert [info.model for info in check_resumable(folder, manifest()).judges] == ["g"]


def test_a_pass_that_may_be_faked_is_flagged_and_still_a_pass(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    stage = scoring(tmp_path, [problem], FakeExecutor(right))
    texts = ["    import os; os._exit(0); return 2 * x\n", "    return 2 * x\n"]
    stage.add_completions(
        Completion(problem_id=problem.id, model="m", sample=sample, text=text) for sample, text in enumerate(texts)
    )
    stage.run()
    found = {
        row.sample: (row.values["passed"], row.details.get("flags"), row.details.get("scan"))
        for row in rows(tmp_path)
        if row.model == "m" and executed(row)
    }
    assert found == {0: (1.0, ["tamper:early_exit"], SCAN_VERSION), 1: (1.0, None, None)}


def test_another_policy_adds_rows_and_takes_the_verdicts_on_reference_answers(
    tmp_path: Path, make_problem: MakeProblem
) -> None:
    problems = [make_problem(), make_problem("broken", reference="    return 3\n")]
    executor = FakeExecutor(right)
    stage = scoring(tmp_path, problems, executor)
    stage.add_completions(
        Completion(problem_id=problem.id, model="m", text="    return 2 * x\n    return )") for problem in problems
    )
    first = stage.run()
    before, asked = rows(tmp_path), len(executor.asked)
    assert scoring(tmp_path, problems, executor, cut="raw").run() == first
    after = rows(tmp_path)
    assert after[: len(before)] == before  # also those without a verdict
    assert {row.policy for row in after} == {"syntax@4", "raw@2"}
    assert [request for request in executor.asked[asked:] if request.source.endswith("return 3\n")] == []
    assert sum(row.model == "reference" and row.policy == "raw@2" and executed(row) for row in after) == 2


LONGER = "    y = 1\n    return 2 * x\n"


def reference_rows(folder: Path, key: str) -> list[Score]:
    found = [row for row in rows(folder) if row.model == "reference" and executed(row)]
    return [row for row in found if row.policy == key]


@pytest.mark.parametrize("first", ["syntax", "first_line"])
def test_a_reference_that_the_policy_changes_is_measured_and_excludes_nothing(
    tmp_path: Path, make_problem: MakeProblem, first: str
) -> None:
    problem, unchanged = make_problem(reference=LONGER), make_problem("same", reference="    return 2 * x")
    executor = FakeExecutor(right)
    for cut in (first, "syntax", "first_line"):
        stage = scoring(tmp_path, [problem, unchanged], executor, cut=cut)
        stage.add_completions([Completion(problem_id=problem.id, model="m", text="    return 2 * x")])
        assert stage.run() == {}
    whole = {row.problem_id: row.values for row in reference_rows(tmp_path, get_policy("syntax").key)}
    assert whole == {problem.id: {"passed": 1.0}, unchanged.id: {"passed": 1.0}}
    cut_rows = {row.problem_id: row.values for row in reference_rows(tmp_path, get_policy("first_line").key)}
    assert cut_rows == {problem.id: {"passed": 0.0, "reference_passed": 1.0}, unchanged.id: {"passed": 1.0}}
    assert {row.values["passed"] for row in rows(tmp_path) if row.model == "m" and executed(row)} == {1.0}
    asked = len(executor.asked)
    assert scoring(tmp_path, [problem, unchanged], executor, cut="first_line").run() == {}
    assert len(executor.asked) == asked  # nothing is missing


def test_a_stored_verdict_on_the_whole_reference_is_measured_again(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem(reference=LONGER)
    executor = FakeExecutor(right)
    scoring(tmp_path, [problem], executor, cut="first_line").run()
    path = RunFolder(tmp_path).scores_path
    former = [
        row.model_copy(update={"values": {"passed": 1.0}})
        for row in reference_rows(tmp_path, get_policy("first_line").key)
    ]
    write_rows(path, former)  # as earlier versions wrote it
    scoring(tmp_path, [problem], executor, cut="first_line").run()
    [row] = reference_rows(tmp_path, get_policy("first_line").key)
    assert row.values == {"passed": 0.0, "reference_passed": 1.0}


class Waiting(FakeExecutor):
    """What is incomplete ended before a check that waits for ever."""

    def submit(self, requests: Iterable[ExecutionRequest]) -> Iterator[ExecutionResult]:
        """Results in order."""
        for result in super().submit(requests):
            waits = result.status is Status.INCOMPLETE
            yield result.model_copy(update={"waits": True}) if waits else result


@pytest.mark.parametrize("reference_never_finishes", [True, False])
def test_waiting_for_ever_is_honest_where_the_reference_does_so(
    tmp_path: Path, make_problem: MakeProblem, reference_never_finishes: bool
) -> None:
    problem = make_problem()

    def decide(request: ExecutionRequest) -> Status:
        is_reference = "return 2 * x" in request.source
        return Status.INCOMPLETE if reference_never_finishes or not is_reference else Status.PASSED

    stage = scoring(tmp_path, [problem], Waiting(decide))
    stage.add_completions([Completion(problem_id=problem.id, model="m", sample=0, text="    return x\n")])
    assert stage.run() == {}
    assert scoring(tmp_path, [problem], Waiting(decide)).run() == {}
    [row] = [row for row in rows(tmp_path) if row.model == "m" and executed(row)]
    assert row.values == {"passed": float(reference_never_finishes)}
