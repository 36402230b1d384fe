"""Problems in Ruby as a user writes them: a language that DevBench's paper does not have, scored by the command."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from caretbench import cli
from caretbench.suites.devbench.starter import load
from tests.support.compiled_programs import need_toolchain

PROBLEMS = {
    "api_usage/slugs.rb": """\
# Makes slugs of titles.
require "set"

class Slugs
  def initialize
    @seen = Set.new
  end

  # A slug that was not given before: "a-title", then "a-title-2".
  def slug(title)
    base = title.downcase.⟦scan(/[a-z0-9]+/).join("-")
    candidate = base
    number = 1
    candidate = "#{base}-#{number += 1}" until @seen.add?(candidate)⟧
    candidate
  end
end
⟦tests⟧
require "minitest/autorun"

class SlugsTest < Minitest::Test
  def test_slug
    slugs = Slugs.new
    assert_equal "a-title", slugs.slug("A title!")
    assert_equal "a-title-2", slugs.slug("a TITLE")
  end
end
""",
    "code_purpose/median.rb": """\
# The median of numbers; nil where there are none.
def median(numbers)
  return if numbers.empty?

  sorted = numbers.sort
  middle = sorted.size / 2
  ⟦sorted.size.odd? ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0⟧
end
⟦tests⟧
raise "odd" unless median([3, 1, 2]) == 2
raise "even" unless median([4, 1, 2, 3]) == 2.5
raise "none" unless median([]).nil?
""",
}
SLUGS, MEDIAN = "ruby/api_usage/slugs", "ruby/code_purpose/median"
ANSWERS = {
    "right": {
        SLUGS: 'gsub(/[^a-z0-9]+/, " ").split.join("-")\n    candidate = base\n    number = 1\n'
        '    until @seen.add?(candidate)\n      number += 1\n      candidate = "#{base}-#{number}"\n    end',
        MEDIAN: "```ruby\n  (sorted[(sorted.size - 1) / 2] + sorted[middle]) / 2.0\n```",
    },
    "wrong": {SLUGS: 'scan(/[a-z0-9]+/).join("-")\n    candidate = base', MEDIAN: "sorted[middle]"},
    "forged": {
        SLUGS: "strip\n    candidate = base\n  end\nend\nat_exit { exit! 0 }\nclass Slugs\n  def slug(candidate)",
        MEDIAN: "exit",
    },
}


def write(folder: Path) -> Path:
    """The set as files: a folder for each category."""
    for path, text in PROBLEMS.items():
        place = folder / "ruby" / path
        place.parent.mkdir(parents=True)
        place.write_text(text, "utf-8")
    return folder


def command(*arguments: str) -> str:
    result = CliRunner().invoke(cli.app, [*arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_right_wrong_and_forged_answers_in_ruby(tmp_path: Path) -> None:
    need_toolchain("ruby")
    data = write(tmp_path / "mine")
    assert [problem.id for problem in load(data)] == [SLUGS, MEDIAN]
    files = []
    for model, answers in ANSWERS.items():
        file = tmp_path / f"{model}.jsonl"
        rows = ({"problem_id": identity, "text": text} for identity, text in answers.items())
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        files += ["--completions", str(file)]
    run = tmp_path / "run"
    command(
        "score", "devbench", "--data", str(data), *files, "--baseline", "reference,empty,stub", "-o", str(run),
        "--no-html",
    )  # fmt: skip
    scores = map(json.loads, (run / "scores.jsonl").read_text("utf-8").splitlines())
    rows = [row for row in scores if row["outcome"] is not None]
    found = {(row["model"], row["problem_id"]): row["outcome"] for row in rows}
    assert found == {
        ("right", SLUGS): "passed",
        ("right", MEDIAN): "passed",
        ("wrong", SLUGS): "failed",
        ("wrong", MEDIAN): "runtime_error",
        ("forged", SLUGS): "incomplete",
        ("forged", MEDIAN): "incomplete",
        ("reference", SLUGS): "passed",
        ("reference", MEDIAN): "passed",
        ("empty", SLUGS): "runtime_error",
        ("empty", MEDIAN): "runtime_error",
        ("stub", SLUGS): "runtime_error",
        ("stub", MEDIAN): "runtime_error",
    }
    flags = {row["problem_id"]: row["details"]["flags"] for row in rows if row["model"] == "forged"}
    assert all(any(flag.startswith("tamper:") for flag in each) for each in flags.values()), flags


def test_the_gate_finds_problems_in_ruby_valid(tmp_path: Path) -> None:
    """Costs seconds: the gate runs references, mutants and other layouts of them, which no other test does in Ruby."""
    need_toolchain("ruby")
    verdicts = tmp_path / "verdicts.jsonl"
    data = write(tmp_path / "mine")
    command("validate", "devbench", "--data", str(data), "-o", str(verdicts))
    rows = [json.loads(line) for line in verdicts.read_text("utf-8").splitlines()]
    assert {row["problem_id"]: row["verdict"] for row in rows} == {SLUGS: "valid", MEDIAN: "valid"}
