"""Programs with input and output cases: one compilation, the first failing case ends the check, the output decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from caretbench.execution.cache.cache_keys import program_key, verdict_key
from caretbench.execution.execution_types import CONTEST, ExecutionRequest, ExecutionResult, Limits, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.problem import ProgramCase
from tests.support.compiled_programs import need_toolchain

SQUARE = {
    "python": "import sys\nprint(int(sys.stdin.readline()) ** 2)\n",
    "cpp": "#include <iostream>\nint main() { int n; std::cin >> n; std::cout << n * n; }\n",
    "java": """import java.util.*;
class Helper { }
class Solution {
    public static void main(String[] words) {
        System.out.println(new Scanner(System.in).nextInt() * 2 == 6 ? 9 : 16);
        System.exit(0);
    }
}
""",
    "csharp": "using System;\n"
    "class P { static void Main() { int n = int.Parse(Console.ReadLine()); Console.Write(n * n); } }",
    "javascript": "const n = Number(require('fs').readFileSync(0, 'utf8')); console.log(n * n);\n",
    "ruby": "puts gets.to_i ** 2\n",
}
CASES = (ProgramCase(stdin="3\n", outputs=("9\n",)), ProgramCase(stdin="4\n", outputs=("17", "16")))


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    sandbox = Sandbox()
    try:
        sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    yield LocalExecutor(2, use_cache=False, sandbox=sandbox)
    sandbox.close()


def run(
    executor: LocalExecutor, source: str, cases: Sequence[ProgramCase] = CASES, language: str = "python", **more: Any
) -> ExecutionResult:
    need_toolchain(language)
    request = ExecutionRequest(
        id="program", language=language, source=source, variant=CONTEST, cases=tuple(cases), **more
    )
    return next(iter(executor.submit([request])))


@pytest.mark.parametrize("language", SQUARE)
@pytest.mark.parametrize("profile", ["default", "paper"])
def test_a_program_that_prints_an_accepted_output_for_each_input_passes(
    executor: LocalExecutor, language: str, profile: Any
) -> None:
    result = run(executor, SQUARE[language], language=language, profile=profile)
    assert (result.status, result.tests and result.tests.passed) == (Status.PASSED, 2), result


def test_the_first_wrong_case_ends_the_check_and_is_named(executor: LocalExecutor) -> None:
    cases = (CASES[0], ProgramCase(stdin="4\n", outputs=("17",)), ProgramCase(stdin="not a number", outputs=("",)))
    result = run(executor, SQUARE["python"], cases)
    assert result.status is Status.FAILED
    assert result.tests is not None
    assert (result.tests.passed, result.tests.failing) == (1, ("case 2",))
    assert "case 2 of 3" in result.reason


def test_a_program_that_fails_after_the_right_output_fails(executor: LocalExecutor) -> None:
    assert run(executor, SQUARE["python"] + "raise SystemExit(3)\n").status is Status.RUNTIME_ERROR


def test_leaving_early_is_no_fault_where_the_output_is_right(executor: LocalExecutor) -> None:
    assert run(executor, SQUARE["python"] + "import os\nsys.stdout.flush()\nos._exit(0)\n").status is Status.PASSED


def test_a_case_without_output_wants_the_program_to_reach_its_end(executor: LocalExecutor) -> None:
    silent = [ProgramCase(stdin="1", outputs=("",))]
    assert run(executor, "import os\nos._exit(0)\n", silent).status is Status.INCOMPLETE
    assert run(executor, "pass\n", silent).status is Status.PASSED


def test_more_output_than_is_kept_is_no_accepted_output(executor: LocalExecutor) -> None:
    long = "7" * 200_000
    assert run(executor, f"print('7' * {len(long)})", [ProgramCase(outputs=(long,))]).status is Status.PASSED
    many = run(executor, "print('7' * 2_000_000)", [ProgramCase(outputs=("7",))])
    assert many.status is Status.FAILED


def test_a_contest_program_has_the_headers_and_the_stack_of_its_judge(executor: LocalExecutor) -> None:
    """``fmax`` and ``malloc`` without their headers, and 32 MB of texts in a function, as references of SAFIM have."""
    use = "int main() { int *p = (int*) malloc(4); *p = fmax(2, 3); %s return 0; }\n"
    small = use % "std::cout << *p;"
    for source in (
        "#include <iostream>\n" + small,
        "#include <stdio.h>\n" + use % 'printf("%d", *p);',
        "#define own\n#include <iostream>\n" + small,  # no header of which is precompiled
        "#include <iostream>\nint main() { std::string s[1005][1005]; std::cin >> s[9][9]; std::cout << s[9][9]; }",
    ):
        assert run(executor, source, [ProgramCase(stdin="3", outputs=("3",))], "cpp").status is Status.PASSED, source


def test_the_limit_is_that_of_one_case(executor: LocalExecutor) -> None:
    """Costs 3 s of CPU: three cases of 0.7 s within a limit of 1 s, and one that never ends."""
    busy = "import time\nwhile time.process_time() < 0.7:\n    pass\nprint(1)\n"
    limits = Limits(cpu_s=1, wall_s=30)
    assert run(executor, busy, [ProgramCase(outputs=("1",))] * 3, limits=limits).status is Status.PASSED
    endless = run(executor, "while True:\n    pass\n", [ProgramCase(outputs=("1",))], limits=limits)
    assert (endless.status, endless.limit) == (Status.TIMEOUT, "cpu")


def test_the_bound_of_the_reference_ends_a_program_once_where_no_confirmation_is_wanted(
    executor: LocalExecutor,
) -> None:
    """Costs 3 s of CPU: one endless loop without, and one with a second run alone."""
    once, twice = (
        run(
            executor, "while True:\n    pass\n", [ProgramCase(outputs=("1",))],
            reference_cpu_s=0.01, confirms_cpu_limit=confirms,
        )
        for confirms in (False, True)
    )  # fmt: skip
    assert (once.status, once.attempt, twice.attempt) == (Status.TIMEOUT, 1, 2)


@pytest.mark.parametrize(
    ("language", "source"),
    [
        (
            "cpp",
            "\ufeff#include <iostream>\n"
            "int main() {\n#ifdef ONLINE_JUDGE\nstd::cout << 1;\n#else\nstd::cout << 0;\n#endif\n}\n",
        ),
        (
            "java",
            "public class Main { public static void main(String[] w) "
            '{ System.out.println(System.getProperty("ONLINE_JUDGE") != null ? 1 : 0); } }',
        ),
        (
            "csharp",
            "class P { static void Main() {\n"
            "#if ONLINE_JUDGE\nSystem.Console.Write(1);\n#else\nSystem.Console.Write(0);\n#endif\n} }",
        ),
    ],
)
def test_a_program_can_see_that_a_judge_runs_it(executor: LocalExecutor, language: str, source: str) -> None:
    assert run(executor, source, [ProgramCase(outputs=("1",))], language=language).status is Status.PASSED


def test_cases_are_part_of_a_verdict_and_not_of_the_compiled_program() -> None:
    requests = [
        ExecutionRequest(id="a", language="cpp", source="int main() {}", cases=cases) for cases in (CASES, CASES[:1])
    ]
    assert len({program_key(request, toolchain="", bundle="") for request in requests}) == 1
    assert len({verdict_key(request, toolchain="", bundle="") for request in requests}) == 2
    silent = ExecutionRequest(id="a", language="cpp", source="int main() {}", cases=(ProgramCase(outputs=("",)),))
    # It is linked with what tells its end.
    assert program_key(silent, toolchain="", bundle="") != program_key(requests[0], toolchain="", bundle="")
