"""The study as a user meets it: recorded completions, simulated people, judges behind a socket."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from caretbench.people.review.protocol import Answer
from caretbench.people.review.records import ReviewItem
from caretbench.people.review.study.judge_study import StudyResult
from caretbench.runs.run_folder import RunFolder
from tests.support.command_run import in_this_process as caretbench
from tests.support.model_server import ModelServer, Recorded
from tests.support.rule_judges import between
from tests.support.simulated_people import decide_all, starter_run

PEOPLE = ("ann", "bob", "cyd")


def share(*words: str) -> float:
    return int(hashlib.sha256("\0".join(words).encode()).hexdigest()[:8], 16) / 16**8


def quality(prefix: str) -> int:
    """The quality of the text at a place, from 0 to 5: known to people and to the judge that is right."""
    return int(6 * share(prefix.strip()))


def person(item: ReviewItem, name: str) -> Mapping[str, Answer]:
    """A person sees the quality, and errs by a point one time in three, in each direction as often."""
    found: dict[str, Answer] = {}
    for score in ("relevance", "helpfulness"):
        draw = share(item.id, name, score)
        error = -1 if draw < 1 / 6 else 1 if draw > 5 / 6 else 0
        found[score] = min(5, max(0, quality(item.shown.before) + error))
    return found


def rule_of(kind: str) -> Callable[[str], int]:
    def right(prompt: str) -> int:
        return quality(between(prompt, "CODE BEFORE THE CARET"))

    def random(prompt: str) -> int:
        return int(6 * share(between(prompt, "INSERTION")))

    def longer(prompt: str) -> int:
        return min(5, len(between(prompt, "INSERTION")) // 90)

    return {"gpt-4o": right, "gpt-4o-mini": random, "gpt-4-turbo": longer}[kind]


def answered(request: Recorded, _choice: int) -> str:
    score = rule_of(str(request.body["model"]))(str(request.body["messages"][-1]["content"]))
    return json.dumps({"reasoning": "by rule", "relevance": score, "helpfulness": score})


def studied(folder: RunFolder, place: Path, server: ModelServer) -> str:
    done = caretbench(
        "judge", str(folder.path), "--study", str(place), "-m", "right=openai/gpt-4o", "-m",
        "random=openai/gpt-4o-mini", "-m", "longer=openai/gpt-4-turbo", "--base-url", f"{server.url}/v1",
        "--connections", "8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def review(folder: RunFolder, place: Path, texts: int = 150) -> Path:
    made = caretbench(
        "review",
        "new",
        str(place),
        "--protocol",
        "completion-quality",
        "--run",
        str(folder.path),
        "--texts",
        str(texts),
    )
    assert made.returncode == 0, made.stderr
    decide_all(place, PEOPLE, person, simulated=True)
    return place


def test_a_study_asks_once_and_keeps_its_results(tmp_path: Path) -> None:
    folder = starter_run(tmp_path / "run")
    place = review(folder, tmp_path / "review", 30)
    plan = caretbench("judge", str(folder.path), "--study", str(place), "-m", "openai/x", "--dry-run", "--json")
    [row] = json.loads(plan.stdout)
    assert row["distinct_texts"] > 30
    with ModelServer(answer=answered) as server:
        first = studied(folder, place, server)
        asked = len(server.requests)
        assert studied(folder, place, server) == first
        assert len(server.requests) == asked
    assert first.startswith("simulated ratings (test only), 30 texts by devbench-quality@1")
    assert "validated" not in first
    assert len(first.splitlines()) == 4, "a line for each judge; the rest is in the file"
    assert asked == 3 * row["distinct_texts"] == len(list(folder.judgements()))
    again = caretbench("judge", str(folder.path), "--study", str(place), "--json")
    assert StudyResult.model_validate_json((place / "study.json").read_text()).people == 3
    assert json.loads(again.stdout)["texts"] == 30


def test_mistakes_are_named(tmp_path: Path) -> None:
    folder = starter_run(tmp_path / "run")
    place = tmp_path / "review"
    caretbench("review", "new", str(place), "--protocol", "completion-quality", "--run", str(folder.path))
    for words, complaint in (
        ((), "nobody has rated an answer yet"),
        (("--criterion", "none"), "unknown criterion 'none'"),
    ):
        done = caretbench("judge", str(folder.path), "--study", str(place), "-m", "openai/x", *words)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        if not words:
            assert complaint in done.stderr
    decide_all(place, PEOPLE, person)
    done = caretbench("judge", str(folder.path), "--study", str(place))
    assert "no judge has judged these" in done.stderr
    done = caretbench("judge", str(folder.path), "--study", str(tmp_path / "nothing"), "-m", "openai/x")
    assert "no review" in done.stderr


@pytest.mark.long
def test_the_study_of_150_recorded_completions(devbench_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    scored = caretbench(
        "score", "devbench", "--data", str(devbench_data / "benchmark"), "--completions",
        str(devbench_data / "completions"), "--no-execute", "--baseline", "none", "-o", str(path), "--no-html",
    )  # fmt: skip
    assert scored.returncode == 0, scored.stderr
    folder = RunFolder(path)
    place = review(folder, tmp_path / "review")
    with ModelServer(answer=answered) as server:
        studied(folder, place, server)
    found = StudyResult.model_validate_json((place / "study.json").read_text())
    assert (found.texts, found.people, found.simulated) == (150, 3, True)
    parts = {one.part: one.texts for one in found.comparisons if (one.judge, one.score) == ("right", "total")}
    assert parts.pop("all") == 150
    assert set(parts.values()) == {25}
    assert len(parts) == 6
    passes = {one.judge: one.passes for one in found.replacements}
    assert (passes["right"], passes["random"], passes["longer"]) == (True, False, False)
    gaps = {(one.judge, one.style): one.verdict for one in found.styles}
    assert gaps["longer", "harmless-lines"] == "higher"
    assert {verdict for (name, _), verdict in gaps.items() if name == "right"} == {"not distinguishable"}
    assert caretbench("review", "export", str(place)).returncode == 0
    shown = caretbench("report", str(path), "-o", str(tmp_path / "page.html"))
    assert "simulated ratings (test only)" in " ".join(shown.stdout.split())
    assert "validated" not in shown.stdout + re.sub(r"<script.*?</script>", "", (tmp_path / "page.html").read_text())
