"""Problems of the released layout: what is shown, gate, leak report, baselines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from caretbench.build import load_builder
from caretbench.files import DataError
from caretbench.models import ChatPrompt
from caretbench.problem import ChoiceCheck, Problem, Question
from caretbench.prompts.question import ChatQuestionStrategy, TextQuestionStrategy
from caretbench.prompts.strategy import PromptBudget
from caretbench.suites.efcb.released_problems import RELEASE_LABEL
from caretbench.suites.efcb.suite import Efcb
from tests.support.command_run import in_this_process as caretbench
from tests.support.model_server import ModelServer, Recorded
from tests.support.released_efcb import (
    NAMES,
    SYSTEM,
    choice_row,
    masked_row,
    patch,
    repository_rows,
    reverse_row,
    write_release,
    write_rows,
)

SUITE = Efcb()
WIDE = PromptBudget(None, len)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(
        tmp_path_factory.mktemp("release"), pond=repository_rows(), tailscale=repository_rows(NAMES[:4], 9)
    )


@pytest.fixture(scope="module")
def problems(release: Path) -> dict[str, Problem]:
    return {problem.id: problem for problem in SUITE.load(str(release)).problems}


def only(tmp_path: Path, kind: str, *rows: dict[str, Any]) -> Problem:
    write_rows(tmp_path / "pond" / f"pond_{kind}.jsonl", list(rows))
    return SUITE.load(str(tmp_path)).problems[0]


def test_each_row_is_a_question_of_each_of_its_tasks(problems: dict[str, Problem]) -> None:
    tasks = Counter(problem.label("task") for problem in problems.values())
    assert tasks == {"gmcq-easy": 12, "gmcq-hard": 12, "mpr-gen": 10, "reverse-qa": 12, "reverse-qa-hallu": 12}
    easy = problems["pond/the_pond_mcq_easy/3"]
    assert easy.labels | {"patch_lines": 0.0, "patch_characters": 0.0} == {
        "task": "gmcq-easy", "tier": "random", "repository": "pond", "language": "go", "query": "description_only",
        "rotation": 0.0, "files": 1.0, RELEASE_LABEL: "v0.3", "patch_lines": 0.0, "patch_characters": 0.0,
    }  # fmt: skip
    assert isinstance(easy.shown, Question)
    assert easy.shown.choices[2] == patch("colour", 8)
    assert (easy.reference, easy.checks) == ("C", (ChoiceCheck(correct=2),))
    masked = problems["pond/the_pond_mpr_gen/1"]
    assert masked.reference == patch("area", 8)
    assert masked.labels["masked_lines"] == 5.0
    assert problems["pond/the_pond_reverse_qa/1/hallu"].released["title"] == "area: measure"


def test_a_pull_request_is_one_cluster_of_all_its_tasks(problems: dict[str, Problem]) -> None:
    sizes = Counter(problem.cluster for problem in problems.values())
    assert Counter(sizes.values()) == {5: 10, 4: 2}


def test_a_pull_request_is_recognised_whatever_the_order_of_its_rows(tmp_path: Path) -> None:
    kinds = repository_rows(NAMES[:4])
    root = write_release(tmp_path, pond=kinds | {"mcq_hard": kinds["mcq_hard"][::-1], "mpr_gen": kinds["mpr_gen"][1:]})
    by_task: dict[str, list[str]] = {}
    for problem in SUITE.load(str(root)).problems:
        by_task.setdefault(problem.label("task"), []).append(problem.cluster)
    easy = by_task["gmcq-easy"]
    assert by_task["gmcq-hard"] == easy[::-1]
    assert by_task["mpr-gen"] == easy[1:3]
    assert by_task["reverse-qa"] == easy


def test_models_are_shown_the_released_messages_and_nothing_else(problems: dict[str, Problem]) -> None:
    for problem in problems.values():
        assert isinstance(problem.shown, Question)
        prompt = ChatQuestionStrategy().render_question(problem.shown, WIDE)
        assert isinstance(prompt, ChatPrompt)
        assert [message.role for message in prompt.messages] == ["system", "user"]
        assert [message.text for message in prompt.messages] == [message.text for message in problem.shown.messages]
        assert prompt.messages[0].text in SYSTEM.values()
        text = TextQuestionStrategy().render_question(problem.shown, WIDE).text
        assert text.startswith(prompt.messages[0].text)
        assert text.count("Choice A:") == bool(problem.shown.choices)


QUOTED = "Asks:\n\n---\n\nChoice A:\nno\n\nChoice B:\n```go\nyes\n```\n\nChoice C: or\nChoice D: not?"
FENCED = "docs/a.md\n@@ -1 +1,4 @@\n+```\n+Choice B:\n+---\n+```\n---\n"


def test_files_that_are_passed_over_are_named(tmp_path: Path) -> None:
    row = choice_row(QUOTED, [patch("area"), FENCED, patch("edge"), patch("grid")], "B")
    only(tmp_path, "mcq_hard", row)
    write_rows(tmp_path / "pond" / "pond_mcq_medium.jsonl", [row])
    [line] = SUITE.load(str(tmp_path)).passed_over
    assert line.startswith(f"{tmp_path}/pond: 1 file passed over")


def test_quoted_choices_fences_and_dashes_do_not_mislead(tmp_path: Path) -> None:
    patches = [patch("area"), FENCED, patch("edge"), patch("grid")]
    problem = only(tmp_path, "mcq_hard", choice_row(QUOTED, patches, "B"))
    assert isinstance(problem.shown, Question)
    assert problem.shown.choices == tuple(patches)
    assert problem.shown.text.endswith(QUOTED)
    assert problem.labels["files"] == 1.0


def test_windows_line_ends_and_choices_without_dashes_are_read(tmp_path: Path) -> None:
    row = choice_row("Measures.", [patch(name) for name in NAMES[:4]], "D")
    for message in row["input"]:
        message["content"] = message["content"].replace("\n\n---\n\n", "\n\n").replace("\n", "\r\n")
    problem = only(tmp_path, "mcq_easy", row)
    assert isinstance(problem.shown, Question)
    assert problem.shown.choices == tuple(patch(name) for name in NAMES[:4])


def test_a_masked_patch_may_have_windows_line_ends_or_only_its_lines_as_ideal(tmp_path: Path) -> None:
    row = masked_row("edge")
    row["ideal"] = row["ideal"].replace("\n", "\r\n")
    row["input"][1]["content"] = row["input"][1]["content"].replace("\n", "\r\n")
    lines = masked_row("area") | {"ideal": "+\tarea := measure(0)\n"}
    write_rows(tmp_path / "pond" / "pond_mpr_gen.jsonl", [row, lines])
    first, second = SUITE.load(str(tmp_path)).problems
    assert first.labels["masked_lines"] == 5.0
    assert "masked_lines" not in second.labels
    assert second.reference == "+\tarea := measure(0)\n"


def test_requests_with_the_same_patch_stay_apart(tmp_path: Path) -> None:
    write_rows(tmp_path / "p" / "p_reverse_qa.jsonl", [reverse_row("area"), reverse_row("area")])
    choices = [patch("area", 8), patch("edge"), patch("grid"), patch("depth")]
    write_rows(tmp_path / "p" / "p_mcq_easy.jsonl", [choice_row(text, choices, "A") for text in ("One.", "Two.")])
    sizes = Counter(problem.cluster for problem in SUITE.load(str(tmp_path)).problems)
    assert list(sizes.values()) == [3, 3]


@pytest.mark.parametrize(
    ("kind", "row", "cause"),
    [
        ("mcq_easy", choice_row("x", list("abcd"), "E"), "'ideal' is 'E', expected one letter of A, B, C, D"),
        ("mcq_easy", choice_row("x", list("abcd"), "the second"), "'ideal' is 'the second'"),
        ("mcq_hard", reverse_row("area") | {"ideal": "A"}, "no line begins with 'Choice A:'"),
        ("mpr_gen", reverse_row("area"), "no line begins with 'Code Diff:'"),
        ("mpr_gen", masked_row("area", 8) | {"input": ["s", "Code Diff:\nx\n"]}, "there is no [[MASK]] below"),
    ],
)
def test_a_row_that_is_no_question_is_named(tmp_path: Path, kind: str, row: dict[str, Any], cause: str) -> None:
    with pytest.raises(DataError) as found:
        only(tmp_path, kind, row)
    place = tmp_path / "pond" / f"pond_{kind}.jsonl"
    assert str(found.value).startswith(f"{place}:1: {cause}")
    assert "remove this" in str(found.value)


def test_a_fifth_choice_is_refused(tmp_path: Path) -> None:
    row = choice_row("x", list("abcd"), "A")
    row["input"][1]["content"] += "Choice E:\ne\n"
    with pytest.raises(DataError, match=r"/pond_mcq_easy\.jsonl:1: .*choice E"):
        only(tmp_path, "mcq_easy", row)


def test_the_leak_report_names_what_consensus_and_position_find(release: Path) -> None:
    (table,) = [table for table in load_builder("efcb").data_tables(str(release)) if table.name == "efcb-leaks"]
    assert table.columns == ("Attack", "Kind", "GMCQ-Easy random description only", "GMCQ-Hard description only")
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["questions"] == ("", "12", "12")
    assert rows["always A"] == ("limit", "0.250", "0.250")
    assert rows["consensus"][2] == "1.000!"
    assert float(rows["TF-IDF"][1]) == 1.0
    counts = next(table for table in load_builder("efcb").data_tables(str(release)) if table.name == "efcb-questions")
    assert counts.rows[-1] == ("Total", "39", "19", "58", "58")


def test_the_gate_refuses_repeated_choices_and_leaking_tiers(tmp_path: Path) -> None:
    rows = []
    for number in range(104):
        texts = [patch(f"{name}{number}", 3) for name in NAMES[:4]]
        centre = patch(f"centre{number}", 3)
        edits = [centre.replace(f"measure({place})", "weigh(1)") for place in range(3)]
        rows.append((choice_row(f"Say {number}.", texts, "ABCD"[number % 4]), edits, centre, number % 4))
    hard = [
        choice_row(f"Say {number}.", [*edits[:at], centre, *edits[at:]], "ABCD"[at])
        for number, (_, edits, centre, at) in enumerate(rows)
    ]
    hard[7] = choice_row("Say 7.", [patch("same")] * 4, "A")
    write_rows(tmp_path / "p" / "p_mcq_easy.jsonl", [row for row, *_ in rows])
    write_rows(tmp_path / "p" / "p_mcq_hard.jsonl", hard)
    loaded = SUITE.load(str(tmp_path)).problems
    gate = load_builder("efcb").gate(lambda: pytest.fail("nothing is run"), lambda _: None)
    found = gate.run(loaded, tmp_path / "verdicts")
    by_task = {
        task: [row for row, problem in zip(found, loaded, strict=True) if problem.label("task") == task]
        for task in ("gmcq-easy", "gmcq-hard")
    }
    assert {row.verdict for row in by_task["gmcq-easy"]} == {"valid"}
    assert {row.verdict for row in by_task["gmcq-hard"]} == {"invalid"}
    assert all(any(reason.startswith("shortcut: consensus is right in 9") for reason in row.reasons)
               for row in by_task["gmcq-hard"])  # fmt: skip
    assert sum("choices_repeat" in " ".join(row.reasons) for row in found) == 1


@pytest.mark.long
def test_a_model_is_asked_as_released_and_judged_as_published(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-of-your-business")

    def reply(request: Recorded, _choice: int) -> str:
        text = str(request.body["messages"][-1]["content"])
        return "A" if "Choice A:" in text else "1"  # every judge takes 1

    with ModelServer(answer=reply) as server:
        run = caretbench(
            "run", "efcb", "--data", str(release), "--profile", "paper", "--select", "repository=tailscale",
            "-m", "openai/gpt-4o-mini", "--base-url", f"{server.url}/v1", "-m", "judge=openai/gpt-4.1-nano",
            "--judge-base-url", f"{server.url}/v1", "-o", str(tmp_path / "run"),
            CARETBENCH_CACHE=str(tmp_path / "cache"),
        )  # fmt: skip
    assert run.returncode in (0, 1), run.stderr  # 1: this judge does not pass its controls
    sent = [request.body["messages"] for request in server.requests if request.body]
    shown = {
        tuple((message.role, message.text) for message in problem.shown.messages)
        for problem in SUITE.load(str(release)).problems
        if problem.label("repository") == "tailscale" and isinstance(problem.shown, Question)
    }
    asked = {tuple((one["role"], one["content"]) for one in messages) for messages in sent}
    assert shown <= asked
    assert "0.250" in run.stdout
    assert "Llama-3.3-70B (printed," in run.stdout


@pytest.mark.long
def test_score_and_validate_take_the_released_folder(release: Path, tmp_path: Path) -> None:
    cache = {"CARETBENCH_CACHE": str(tmp_path / "cache")}
    run = caretbench(
        "score", "efcb", "--data", str(release), "--baseline", "all", "--profile", "paper", "-o", str(tmp_path / "run"),
        **cache,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    for number in (5, 6, 7, 8, 9):
        assert f"Table {number}," in run.stdout
    for text in (
        "The EFCB score (paper profile; the paper's Table 4",
        "o4-mini (printed, whole release)",
        "0.584",
        "n = 187",
    ):
        assert text in run.stdout
    assert "Not comparable:" in (tmp_path / "run" / "report.html").read_text("utf-8")
    gate = caretbench("validate", "efcb", "--data", str(release), **cache)
    assert gate.returncode == 0, gate.stderr
    assert "too_small_to_test (24)" in gate.stdout
