"""An exit of the problem's own code is an end; one of the answer's is not."""

from __future__ import annotations

import pytest

from caretbench.execution.own_exit import may_exit


@pytest.mark.parametrize(
    ("language", "after"),
    [
        ("javascript", "main().then(() => process.exit(0));"),
        ("javascript", "process.exit(failures ? 1 : 0);"),
        ("typescript", "main().finally(() => process . exit());"),
        ("python", "if __name__ == '__main__':\n    unittest.main()"),
        ("python", "sys.exit(main())"),
        ("java", "System.exit(failed == 0 ? 0 : 1);"),
        ("cpp", "std::exit(EXIT_SUCCESS);"),
        ("csharp", "Environment.Exit(0);"),
    ],
)
def test_a_problem_that_ends_by_an_exit_may_do_so(language: str, after: str) -> None:
    assert may_exit("", "", after, "", language)


@pytest.mark.parametrize(
    ("language", "after"),
    [
        ("javascript", "main().catch(() => process.exit(1));"),
        ("javascript", "// process.exit(0)\nrun();"),
        ("python", "if broken:\n    sys.exit(2)"),
        ("python", "os._exit(0)"),
        ("cpp", "virtual void exit() = 0; usage(); exit(EXIT_FAILURE);"),
        ("rust", "std::process::exit(0);"),
        ("go", "os.Exit(run())"),  # its exits tell nobody, so no harness could say so
    ],
)
def test_other_programs_may_not(language: str, after: str) -> None:
    assert not may_exit("", "", after, "", language)


def test_an_answer_that_exits_has_no_such_end() -> None:
    after = "process.exit(0);"
    assert not may_exit("", 'process["ex" + "it"](0);', after, "", "javascript")
    assert not may_exit("", "process.exit(0);", after, "", "javascript")
    assert may_exit("", "if (!input) process.exit(1);", after, "", "javascript")


def test_what_the_reference_does_is_honest() -> None:
    assert may_exit("", "process.exit(0);", "", "cleanUp(); process.exit(0);", "javascript")
