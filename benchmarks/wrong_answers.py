"""Find wrong answers with the noise of chat models that a truncation policy makes right, by running them.

Usage: python -m benchmarks.wrong_answers [--policy block] [--languages go,rust] [--problems N] [--answers N] [--jobs N]

Problems: DevBench's starter set, the tests' instances in Go, and own programs in Rust and Ruby. Wrong answers: mutants
and the reference without a construct, as far as they fail as they are. What a policy makes of them with noise is run,
unless the program has the tree and tokens of the wrong one.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from benchmarks.chat_noise import Case, noises, program_key
from caretbench.build.validation.mutants import changed_references, removed_constructs
from caretbench.execution.execution_types import ExecutionRequest, Executor, Status
from caretbench.extraction import get_policy
from caretbench.problem import Caret, InlineSplice, Problem, ProgramCheck, Provenance
from caretbench.suites import load_suite
from caretbench.suites.devbench import starter

ANSWERS = Path(__file__).parents[1] / "tests" / "devbench_answers"
PROGRAMS = {
    "rust/fees": """fn fee(minutes: u32, card: bool) -> u32 {
    «if minutes <= 30 {
        return 0;
    }
    let mut total = 0;
    for hour in 0..(minutes + 29) / 60 {
        total += if hour < 2 { 150 } else { 100 };
    }
    if card { total / 2 } else { total }»
}

fn main() {
    assert_eq!(fee(30, false), 0);
    assert_eq!(fee(31, false), 150);
    assert_eq!(fee(100, false), 300);
    assert_eq!(fee(200, true), 200);
}
""",
    "rust/words": """use std::collections::HashMap;

fn longest(text: &str) -> Option<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in text.split_whitespace() {
        «let count = counts.entry(word).or_insert(0);
        *count += 1;»
    }
    let most = counts.values().max()?;
    counts.iter().filter(|(_, n)| *n == most).map(|(word, _)| word.to_string()).min()
}

fn main() {
    assert_eq!(longest("b a b c a b"), Some("b".to_string()));
    assert_eq!(longest("b a"), Some("a".to_string()));
    assert_eq!(longest(""), None);
}
""",
    "ruby/fees": """def fee(minutes, card)
  «return 0 if minutes <= 30
  total = 0
  ((minutes + 29) / 60).times do |hour|
    total += hour < 2 ? 150 : 100
  end
  if card
    total / 2
  else
    total
  end»
end

raise unless fee(30, false) == 0
raise unless fee(31, false) == 150
raise unless fee(100, false) == 300
raise unless fee(200, true) == 200
""",
    "ruby/words": """class Words
  def initialize(text)
    @words = text.split
  end

  def most
    counts = Hash.new(0)
    @words.each do |word|
      «counts[word] += 1
    end
    best = counts.values.max
    return nil unless best»

    counts.select { |_, count| count == best }.keys.min
  end
end

raise unless Words.new("b a b c a b").most == "b"
raise unless Words.new("b a").most == "a"
raise unless Words.new("").most.nil?
""",
}
"""Programs in languages without starter problems; the answer is between ``«`` and ``»``."""


class Trial(NamedTuple):
    """A wrong answer with noise after a policy."""

    problem: Problem
    wrong: str
    kind: str
    text: str

    @property
    def request(self) -> ExecutionRequest:
        """The program with the text."""
        return program(self.problem, self.text)


def program(problem: Problem, text: str) -> ExecutionRequest:
    """Return the execution of a problem's program with a text."""
    found = load_suite("devbench").make_request(problem, text, "default")
    assert isinstance(found, ExecutionRequest)  # noqa: S101  these problems are programs
    return found.model_copy(update={"id": found.source})


def problems() -> Iterator[Problem]:
    """Yield the problems, those of each language in a fixed order; without those whose answer may be documentation."""
    go = (one for one in starter.load(ANSWERS, source="answers") if one.caret.language == "go")
    for problem in chain(load_suite("devbench").load("starter").problems, go):
        if problem.label("category") != "code2nl_nl2code":
            yield problem
    for name, text in PROGRAMS.items():
        before, _, rest = text.partition("«")
        reference, _, after = rest.partition("»")
        yield Problem(
            id=name, suite="devbench", shown=Caret(language=name.partition("/")[0], prefix=before, suffix=after),
            splice=InlineSplice(before=before, after=after), reference=reference, checks=(ProgramCheck(),),
            cluster=name, provenance=Provenance(source="benchmarks"),
        )  # fmt: skip


def wrong_answers(problem: Problem, count: int) -> list[str]:
    """Return at most ``count`` answers that may be wrong: without a construct, and mutants in a random order."""
    changed = [one.text for one in changed_references(problem)]
    random.Random(problem.id).shuffle(changed)  # noqa: S311  a sample
    texts = dict.fromkeys(chain((one.text for one in removed_constructs(problem)), changed))
    return [text for text in texts if text.strip() != problem.reference.strip()][:count]


def trials(problem: Problem, wrong: str, name: str) -> Iterator[Trial]:
    """Yield what a policy makes of a wrong answer with each noise, where it is no longer the wrong program."""
    splice = problem.splice
    assert isinstance(splice, InlineSplice)  # noqa: S101  these problems are programs
    caret, language, chosen = problem.caret, problem.caret.language, get_policy(name)
    case = Case(problem.id, language, caret.prefix, wrong, caret.suffix or splice.after, not caret.suffix)
    key = program_key(splice.program(wrong), language)
    seen = {wrong}
    for kind, text in [("none", wrong), *noises(case).items()]:
        made = chosen.apply(text, caret).text
        if made not in seen and program_key(splice.program(made), language) != key:
            yield Trial(problem, wrong, kind, made)
        seen.add(made)


def made_right(
    chosen: Iterable[Problem], executor: Executor, count: int, names: Iterable[str] = ("block", "syntax")
) -> tuple[list[Trial], Counter[str]]:
    """Return the wrong answers that a policy makes right, and the number of those tried, by language."""
    answers = [(one, wrong) for one in chosen for wrong in wrong_answers(one, count)]
    alone = {program(one, wrong).id: program(one, wrong) for one, wrong in answers}
    status = {result.id: result.status for result in executor.submit(iter(alone.values()))}
    answers = [(one, wrong) for one, wrong in answers if status[program(one, wrong).id].kills_mutant]
    tried: dict[str, list[Trial]] = defaultdict(list)
    for problem, wrong in answers:
        for name in names:
            for trial in trials(problem, wrong, name):
                tried[trial.request.id].append(trial)
    results = executor.submit(found[0].request for found in tried.values())
    passing = {result.id for result in results if result.status is Status.PASSED}
    right = [trial for identity, found in tried.items() if identity in passing for trial in found]
    return right, Counter(problem.caret.language for problem, _ in answers)


def sample(languages: Iterable[str], most: int) -> list[Problem]:
    """Return at most ``most`` problems of each language, those with the longest references."""
    wanted, found = set(languages), defaultdict(list)
    for problem in problems():
        if not wanted or problem.caret.language in wanted:
            found[problem.caret.language].append(problem)
    return [one for group in found.values() for one in sorted(group, key=lambda one: len(one.reference))[-most:]]


def main() -> None:
    """Print the counts, and each wrong answer that a policy makes right."""
    from caretbench.execution.local_executor import LocalExecutor

    parser = argparse.ArgumentParser()
    parser.add_argument("--policy", action="append", default=[])
    parser.add_argument("--languages", default="")
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--answers", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    executor = LocalExecutor(workers=given.jobs)
    chosen = sample(set(given.languages.split(",")) - {""}, given.problems)
    right, counts = made_right(chosen, executor, given.answers, given.policy or ("block", "syntax"))
    for trial in right:
        sys.stdout.write(f"--- {trial.problem.id}: {trial.kind}\n{trial.wrong!r}\n=> {trial.text!r}\n")
    sys.stdout.write(f"{len(right)} made right; wrong answers tried: {dict(counts)}\n")


if __name__ == "__main__":
    main()
