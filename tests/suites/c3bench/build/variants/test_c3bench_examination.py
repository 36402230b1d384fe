from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from caretbench.build.build_models import NO_MODELS
from caretbench.execution.execution_types import ExecutionRequest, Executor, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.progress import Progress
from caretbench.suites.c3bench.build.build import build_variants, variant_problems
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, Variant
from caretbench.suites.c3bench.build.variants.examination import Examination, examine, trial_faults, watched_program
from caretbench.suites.c3bench.implementations.features import FeatureRule
from caretbench.suites.c3bench.implementations.rewrite import Equivalent
from caretbench.suites.c3bench.measures import failed_predicates
from tests.support.c3bench_variants import FUNCTION, HEAD, MIDDLE, RECURSION, REFUSED, SUM, WHILE, even_context
from tests.support.fakes import FakeExecutor


@pytest.fixture(scope="module")
def executor() -> Executor:
    sandbox = Sandbox()
    try:
        sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    return LocalExecutor(2, use_cache=False, sandbox=sandbox)


def variant(name: str, text: str, instruction: str, context: str = "Test/0/0-0", **fields: object) -> Variant:
    one = Variant(context, name, "model", "m", "algorithmic", instruction, text)
    return replace(one, **fields)  # type: ignore[arg-type]


def context() -> CodeContext:
    return replace(even_context(), id="Test/0/0-0")


def examined(executor: Executor, *variants: Variant, **fields: object) -> Examination:
    return examine([replace(context(), **fields)], variants, executor, NO_MODELS)  # type: ignore[arg-type]


@pytest.mark.long
def test_good_versions_stay_and_the_others_are_counted_by_reason(executor: Executor) -> None:
    """Everything that is wrong about a version has its reason, whatever it tries to do."""
    good = {"sum": SUM, "while": WHILE, "recursion": RECURSION}
    versions = good | REFUSED
    found = examined(executor, *(variant(name, *version) for name, version in versions.items()))
    verdicts = {row.name: row.verdict for row in found.rows}
    expected = {name: "kept" if name in good else name.partition(":")[0].split()[0] for name in versions}
    assert verdicts == expected, [(row.name, row.verdict, row.detail) for row in found.rows]
    assert [one.name for one in found.kept] == ["sum", "while", "recursion"]
    details = {row.name: row.detail for row in found.rows}
    assert details["slow"] == "more than 8 times the lines of the reference"
    assert details["hostile: a file by another name"] == "effect while it runs: open"
    assert "no rule" in details["instruction: says nothing"]


def test_predicates_are_read_from_instructions_and_true_of_one_version(executor: Executor) -> None:
    versions = [variant(name, *version) for name, version in (("a", SUM), ("b", WHILE), ("c", RECURSION))]
    found = examined(executor, *versions)
    assert [one.rule for one in found.kept] == [
        FeatureRule(("call:sum", "comprehension"), ()),
        FeatureRule(("name:index", "while"), ()),
        FeatureRule(("call:even_sum", "function", "name:even_sum", "recursion"), ()),
    ]
    problems = variant_problems({"Test/0/0-0": context()}, found.kept)
    for one in problems:
        for other in problems:
            assert bool(failed_predicates(one, other.reference)) == (one is not other)
        assert failed_predicates(one, MIDDLE)
    assert problems[0].labels == {
        "task": "icc", "language": "python", "category": "algorithmic", "instruction_by": "model", "author": "m"
    }  # fmt: skip
    assert problems[0].caret.prefix == HEAD


def test_a_rule_that_holds_for_another_version_is_no_predicate(executor: Executor) -> None:
    loop = variant("loop", WHILE[0], "Use an `index`.")
    vague = variant("vague", SUM[0], "Keep the sum in `total`.")
    found = examined(executor, loop, vague)
    assert [one.rule is None for one in found.kept] == [False, True]  # all versions assign `total`


def test_a_version_that_follows_another_instruction_is_a_duplicate(executor: Executor) -> None:
    rule = FeatureRule(("call:sum",), ())
    text = "    total = sum([value for value in values if not value % 2])\n"
    nothing = frozenset[str]()
    other = Equivalent(text, "accumulator_to_sum", "algorithmic", rule, (), nothing)
    found = examined(executor, variant("a", *WHILE), variant("b", *SUM), others=(other,))
    assert [row.verdict for row in found.rows] == ["kept", "duplicate"]
    assert found.rows[1].detail == "does what the instruction of accumulator_to_sum demands"


def test_a_context_whose_own_middle_fails_keeps_nothing(executor: Executor) -> None:
    found = examined(executor, variant("a", *SUM), reference="    total = 1\n")
    assert [row.verdict for row in found.rows] == ["reference"]
    assert found.rows[0].detail.startswith("failed: AssertionError")


@pytest.mark.long
def test_a_reference_with_effects_of_its_own_is_not_watched(executor: Executor) -> None:
    """What the reference does, versions may do: here both write a file in the sandbox."""
    write = "    open('/tmp/log', 'w').close()\n"
    found = examined(executor, variant("a", write + SUM[0], SUM[1]), reference=write + MIDDLE)
    assert [(row.verdict, row.detail) for row in found.rows] == [("kept", "")]


def test_a_machine_without_a_verdict_keeps_nothing() -> None:
    executor = FakeExecutor(lambda request: Status.PASSED if request.is_reference else Status.SANDBOX_ERROR)
    found = examined(executor, variant("a", *SUM))
    assert [row.verdict for row in found.rows] == ["not_run"]


def test_tests_run_three_times_and_one_failure_counts() -> None:
    def decide(request: ExecutionRequest) -> Status:
        return Status.FAILED if request.repeat == 2 and not request.is_reference else Status.PASSED

    executor = FakeExecutor(decide)
    assert [row.verdict for row in examined(executor, variant("a", *SUM)).rows] == ["wrong"]
    assert sorted(one.repeat for one in executor.asked if one.is_reference) == [0, 1, 2]


JAVA = "import java.util.function.*;\nimport java.nio.file.*;\nclass Main {\n    static int two() {\n"
ODD = [
    ("python", "    import io, threading\n    return len(io.StringIO('ab').read())\n", ""),
    ("python", "    import asyncio\n    async def f():\n        return eval('2')\n    return asyncio.run(f())\n", ""),
    ("python", "    import zoneinfo\n    zoneinfo.ZoneInfo('Europe/Berlin')\n    return 2\n", ""),
    ("python", "    import subprocess\n    subprocess.run(['true'])\n    return 2\n", "subprocess.Popen"),
    ("javascript", "  return new Function('return 2')() + Number(process.argv.length > 9);\n", ""),
    ("javascript", "  require('fs').readFileSync('/etc/hostname');\n  return 2;\n", "it reads /etc/hostname"),
    ("javascript", "  require('child_process').execSync('ls');\n  return 2;\n", "it starts /bin/sh"),
    ("java", "        return Paths.get(\"a/b\").getNameCount();\n", ""),
    ("java", "        Thread.yield();\n        try { Files.list(Path.of(\"/etc\")); } catch (Exception e) { }\n"
     "        return 2;\n", "it reads /etc"),
]  # fmt: skip


def test_effects_are_those_that_a_program_has_while_it_runs() -> None:
    shown = {
        "python": ("def two():\n", "", "assert two() == 2\n"),
        "javascript": ("function two() {\n", "}\n", "if (two() !== 2) throw Error();\n"),
        "java": (JAVA, "    }\n", "    public static void main(String[] a) { assert two() == 2; }\n}\n"),
    }
    sandbox = Sandbox()
    if sandbox.probe().level != "namespaces":
        pytest.skip("only namespaces show what a program opens")
    executor = LocalExecutor(2, use_cache=False, sandbox=sandbox)
    contexts = {
        language: CodeContext(language, language, before, after, "return 2;\n", tests, FUNCTION.provenance)
        for language, (before, after, tests) in shown.items()
    }
    contexts["python"] = replace(contexts["python"], reference="    return 2\n")
    variants = [variant(f"{n}", text, "Do it.", context=language) for n, (language, text, _) in enumerate(ODD)]
    faults = trial_faults(contexts, variants, executor)
    details = {n: fault.detail for n, fault in faults.items()}
    assert details == {n: f"effect while it runs: {effect}" for n, (_, _, effect) in enumerate(ODD) if effect}


def test_a_watched_program_may_import_and_compute(executor: Executor) -> None:
    sources = {
        "plain": "import heapq, decimal, collections, dataclasses\nassert heapq.nsmallest(1, [2, 1]) == [1]\n",
        "listing": "import os\nos.listdir('/')\n",
        "caught": "try:\n    open('/etc/passwd')\nexcept BaseException:\n    pass\n",
    }
    requests = [
        ExecutionRequest(id=name, language="python", source=watched_program(text)) for name, text in sources.items()
    ]
    codes = {one.id: one.exit_code for one in executor.submit(requests)}
    assert codes == {"plain": 0, "listing": 97, "caught": 97}


@pytest.mark.long
def test_the_example_is_kept_whole(executor: Executor) -> None:
    with resources.as_file(resources.files("caretbench.suites.c3bench.build.variants") / "example.toml") as path:
        built = build_variants([], [path], executor, NO_MODELS, Progress())
    assert built.notes == ()
    assert built.numbers == {"by hand": {"kept": 8}}
    assert [one.caret.language for one in built.problems] == ["cpp"] * 4 + ["python"] * 4
    assert sum(len(one.checks) == 2 for one in built.problems) == 4  # each in Python has a predicate


@pytest.mark.long
def test_hand_written_variants_are_checked_like_others(executor: Executor, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        """
[[contexts]]
id = "own/total"
language = "javascript"
prefix = "const assert = require('assert');\\nfunction total(values) {\\n"
suffix = "}\\n"
tests = "assert.strictEqual(total([1, 2]), 3);"
[[contexts.implementations]]
code = "  let sum = 0;\\n  for (const value of values) sum += value;\\n  return sum;\\n"
category = "control_flow"
instruction = "Use a for loop with `sum`."
[[contexts.implementations]]
code = "  return values.reduce((sum, value) => sum + value, 0);\\n"
category = "algorithmic"
instruction = "Use `reduce`."
[[contexts.implementations]]
code = "  return 3 * values.length - 2;\\n"
category = "algorithmic"
instruction = "Multiply the `length`."
[[contexts.implementations]]
code = "  process.exit(0);\\n"
category = "algorithmic"
instruction = "End the `process`."
"""
    )
    built = build_variants([], [path], executor, NO_MODELS, Progress())
    assert built.numbers == {"by hand": {"hostile": 1, "kept": 2, "wrong": 1}}
    assert [line.partition(": ")[0] for line in built.notes] == [f"{path}, context 1"] * 2
    assert "hand-3: wrong" in built.notes[0]


@pytest.mark.long
@pytest.mark.parametrize(("compare", "verdicts"), [("tests", {"kept": 2}), ("values", {"kept": 1, "wrong": 1})])
def test_any_answer_that_passes_is_right_where_tests_compare(
    executor: Executor, tmp_path: Path, compare: str, verdicts: dict[str, int]
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        f"""
[[contexts]]
id = "own/pair"
language = "python"
entry_point = "pair"
compare = "{compare}"
prefix = "def pair(values, total):\\n"
tests = '''
def check(candidate):
    for values in ([1, 4, 2, 3], [5, 0, 2, 3]):
        first, second = candidate(values, 5)
        assert values[first] + values[second] == 5 and first != second
'''
[[contexts.implementations]]
code = '''
    seen = dict()
    for place, value in enumerate(values):
        if total - value in seen:
            return seen[total - value], place
        seen[value] = place
    return None
'''
category = "structural"
instruction = "Remember each place in a dictionary `seen`."
[[contexts.implementations]]
code = '''
    for first in reversed(range(len(values))):
        for second in range(first):
            if values[first] + values[second] == total:
                return first, second
    return None
'''
category = "control_flow"
instruction = "Use two nested for loops, `first` and `second`."
"""
    )
    assert build_variants([], [path], executor, NO_MODELS, Progress()).numbers == {"by hand": verdicts}
