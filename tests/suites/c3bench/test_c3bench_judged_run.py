"""C3-Bench with and without the instruction, and with a judge: one command from prompts to paired differences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from caretbench import cli
from caretbench.execution.sandbox import bubblewrap
from caretbench.judging.criteria import problems_by_criterion
from caretbench.models import ClientOptions, ModelRequest
from caretbench.problem import Profile
from caretbench.runs.generate import prompt_text
from caretbench.runs.run_folder import RunFolder
from caretbench.suites import load_suite
from tests.support.fakes import FakeClient
from tests.support.rule_judges import between

SUITE = load_suite("c3bench")
PROBLEMS = {problem.id: problem for problem in SUITE.load("starter").problems}
IMPLEMENTATIONS = [problem for problem in PROBLEMS.values() if problem.label("task") == "icc"]


def test_only_implementations_are_judged_by_the_criterion_of_the_profile() -> None:
    criteria: dict[Profile, str] = {"default": "c3-instruction", "paper": "c3-instruction-paper"}
    for profile, name in criteria.items():
        [part] = problems_by_criterion([*PROBLEMS.values()], profile)
        assert part.criterion.name == name
        assert list(part.problems) == IMPLEMENTATIONS


def test_controls_are_right_answers_to_other_instructions() -> None:
    found = SUITE.caret_controls(IMPLEMENTATIONS, "decision")
    assert set(found) == {problem.id for problem in IMPLEMENTATIONS}
    others = {identity: texts["other-variant"] for identity, texts in found.items() if "other-variant" in texts}
    assert len(others) >= 0.8 * len(found)
    for identity, text in others.items():
        assert SUITE.failed_predicates(PROBLEMS[identity], text)
    assert all(texts["empty"] == "" for texts in found.values())


def reply(request: ModelRequest, _sample: int) -> str:
    """The model writes the reference where it is told how, and else another variant; the judge knows the reference."""
    text = prompt_text(request.prompt)
    if "INSERTED CODE" in text:
        follows = between(text, "INSERTED CODE").split() == between(text, "EXAMPLE").split()
        return f"[REASON]as the example[/REASON]\n[JUDGMENT]{'yes' if follows else 'no'}[/JUDGMENT]"
    problem = PROBLEMS[request.id.partition("#")[0]]
    told = (problem.caret.instruction or "") in text
    return problem.reference if told else problem.released.get("other_variant", problem.reference)


@pytest.mark.long
@pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed")
def test_a_run_in_two_modes_with_a_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(spec: str, _options: ClientOptions) -> FakeClient:
        return FakeClient(reply, name=spec, accepts=["chat"])

    monkeypatch.setattr("caretbench.cli.run.open_client", opened)
    monkeypatch.setattr("caretbench.cli.run.check_access", lambda _spec, _options: None)
    folder = RunFolder(tmp_path / "run")
    done = CliRunner().invoke(
        cli.app,
        [
            "run", "c3bench", "--select", "task=icc", "--limit", "30", "-m", "m=fake/a", "-m", "judge=fake/j",
            "--instruction", "shown,none", "--baseline", "none", "--no-html", "--json", "-o", str(folder.path),
        ],
    )  # fmt: skip
    summary = json.loads(done.stdout)
    tables = {table["name"]: table for table in summary["suite_tables"]}
    effects = {
        row["Measure"]: row
        for row in (
            dict(zip(tables["c3bench-instruction"]["columns"], row, strict=True))
            for row in tables["c3bench-instruction"]["rows"]
        )
    }
    assert effects["Pass@1"]["Verdict"] == "not distinguishable"
    assert (effects["ICC IF"]["Second"], effects["ICC IF"]["Verdict"]) == ("100.0%", "better: shown")
    assert effects["ICC IF, judge (!)"]["Verdict"] == "better: shown"
    judged = next(table for name, table in tables.items() if name.startswith("c3bench-judged"))
    rates = {row[0]: (row[2].partition("\n")[0], row[3].partition("\n")[0]) for row in judged["rows"]}
    assert rates["m"] == ("100.0", "100.0 (!)")  # fewer controls than a judge must be asked about
    by_predicate, by_judge = rates["m, instruction none"]
    assert by_judge == f"{by_predicate} (!)"
    assert by_predicate != "100.0"
    [scores] = summary["judged"]
    [judge] = scores["judges"]
    assert all(judge["reason"] in column["refused"] for column in scores["columns"])
    assert judge["decisions"]["known"]["agreement"] == judge["decisions"]["predicate"]["agreement"] == 1.0
    asked = {row.problem_id for row in folder.judgements()}
    assert all(identity.startswith("icc/") for identity in asked)
