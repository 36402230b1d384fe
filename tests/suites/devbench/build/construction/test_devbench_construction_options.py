from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.build.validation.duplicates import TwinIndex
from caretbench.files import DataError
from caretbench.suites.devbench.build.construction.build_folder import ConstructionOptions
from caretbench.suites.devbench.build.construction.instance_store import add_public_sets
from caretbench.suites.devbench.build.construction.scenario_grid import instances_per_cell, weights_notes
from tests.support.command_run import in_this_process as caretbench

WEIGHTS = """
name = "own"
source = "a test"
[block]
method = 1
[scenario]
full_block = 1
[cut]
token = 1
"""


def test_weights_share_the_same_total_among_the_cells(tmp_path: Path) -> None:
    file = tmp_path / "weights.toml"
    file.write_text(WEIGHTS + "[language]\ngo = 3\njava = 1\n[category]\napi_usage = 2\nlow_context = 1\n")
    options = ConstructionOptions(languages=("go", "java"), categories=("api_usage", "low_context"), per_cell=6,
                                  weights=file)  # fmt: skip
    counts = instances_per_cell(options)
    assert counts == {
        ("java", "api_usage"): 4, ("java", "low_context"): 2, ("go", "api_usage"): 12, ("go", "low_context"): 6,
    }  # fmt: skip
    assert sum(counts.values()) == 24


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("", r"weights\.toml: neither a table"),
        ("[language]\nrust = 1\n", r"weights\.toml: \[language\] has no language of a cell, but rust; known: python"),
        ("[category]\nloops = 1\n", r"\[category\] has no category of a cell, but loops; known: api_usage"),
        ("[language]\ngo = 1\n[category]\nlow_context = 1\n", r"the weight 0 in \[language\]; choose others"),
    ],
)
def test_weights_that_give_no_cell_anything_are_refused(tmp_path: Path, table: str, complaint: str) -> None:
    file = tmp_path / "weights.toml"
    file.write_text(WEIGHTS + table)
    with pytest.raises(DataError, match=complaint):
        instances_per_cell(ConstructionOptions(weights=file, languages=("python",)))


def test_the_share_of_names_without_cells_is_noted(tmp_path: Path) -> None:
    file = tmp_path / "weights.toml"
    file.write_text(WEIGHTS + "[language]\npyton = 3\ngo = 1\n")
    [note] = weights_notes(ConstructionOptions(weights=file))
    assert "[language] no cell has pyton; 75.0% of the table is left out; known: python" in note
    assert weights_notes(ConstructionOptions()) == []


def test_public_sets_are_compared_and_unknown_ones_refused() -> None:
    index = TwinIndex()
    assert add_public_sets(index, ["none"]) == []
    assert add_public_sets(index, ["starter"]) == ["twins are searched in 72 programs of starter"]
    with pytest.raises(DataError, match=r"nowhere.*starter, released"):
        add_public_sets(index, ["nowhere"])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--language", "cobol"], "--language cobol: no such cells; languages: python"),
        (["--category", "poetry"], "--category poetry: no such cells; categories: api_usage"),
        (["--template", "/proc/nowhere"], "cannot be read"),
        (["--weights", "/proc/nowhere.toml"], "no such file of weights"),
        (["--compare", "nowhere"], "--compare nowhere: expected"),
        (["--again", "/proc/nowhere.jsonl"], "`caretbench review export` writes it"),
        (["source"], "build devbench takes no source"),
    ],
)
def test_bad_input_ends_with_one_line(tmp_path: Path, words: list[str], complaint: str) -> None:
    ran = caretbench("build", "devbench", "-m", "generator=mockllm/model", *words, "-o", str(tmp_path / "out"))
    assert ran.returncode != 0
    assert complaint in ran.stderr
    assert "Traceback" not in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_a_wrong_option_is_reported_before_a_missing_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    words = ("-m", "generator=openai/gpt-4o", "--language", "pyhton", "-o", str(tmp_path / "out"))
    ran = caretbench("build", "devbench", *words)
    assert "--language pyhton" in ran.stderr


def test_a_build_needs_a_generator_and_a_folder_of_its_own(tmp_path: Path) -> None:
    command = ("build", "devbench", "-o", str(tmp_path))
    ran = caretbench(*command)
    assert "-m generator=PROVIDER/MODEL" in ran.stderr
    (tmp_path / "manifest.json").write_text('{"suite": "c3bench", "seed": 1, "canary": "x"}')
    ran = caretbench(*command, "-m", "generator=mockllm/model")
    assert "of c3bench" in ran.stderr
