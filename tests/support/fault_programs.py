"""Small programs whose verdicts are known, in all languages that are here, and a scoring run over them as a command."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from caretbench.execution.execution_types import ExecutionRequest, Limits, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.toolchains import load_runtime
from caretbench.extraction.policies import get_policy
from caretbench.problem import Caret, Completion, InlineSplice, Problem, Profile, ProgramCheck, Provenance
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.score import ScoringStage
from caretbench.suites.devbench.suite import DevBench

CPP = "#include <cassert>\n#include <cstdlib>\n"


def _java(body: str) -> str:
    return f"public class Main {{ public static void main(String[] a) throws Exception {{ {body} }} }}\n"


def _csharp(body: str) -> str:
    return (
        f"using System;\nusing System.Diagnostics;\nclass Program {{ static void Main(string[] args) {{ {body} }} }}\n"
    )


PROGRAMS: Mapping[str, Mapping[Status, str]] = {
    "python": {
        Status.PASSED: "assert 1 + 1 == 2\n",
        Status.FAILED: "assert 1 + 1 == 3\n",
        Status.RUNTIME_ERROR: "{}['x']\n",
        Status.INCOMPLETE: "import os\nos._exit(0)\n",
        Status.COMPILE_ERROR: "def f(:\n",
        Status.TIMEOUT: "while True: pass\n",
    },
    "javascript": {
        Status.PASSED: "require('assert')(true);\n",
        Status.FAILED: "require('assert')(false);\n",
        Status.RUNTIME_ERROR: "null.x;\n",
        Status.INCOMPLETE: "process.exit(0);\n",
        Status.COMPILE_ERROR: "function (\n",
    },
    "typescript": {
        Status.PASSED: "import * as assert from 'assert';\nassert.ok(true);\n",
        Status.FAILED: "import * as assert from 'assert';\nassert.ok(1 > 2);\n",
        Status.RUNTIME_ERROR: "throw new RangeError('beyond');\n",
        Status.INCOMPLETE: "process.exit(0);\n",
        Status.COMPILE_ERROR: "const x: = 1;\n",
        Status.TYPE_ERROR: "const x: number = 'one';\nexport {};\n",
    },
    "java": {
        Status.PASSED: _java("assert 1 + 1 == 2;"),
        Status.FAILED: _java("assert 1 + 1 == 3;"),
        Status.RUNTIME_ERROR: _java("throw new IllegalStateException();"),
        Status.INCOMPLETE: _java("System.exit(0);"),
        Status.COMPILE_ERROR: _java("int x = ;"),
    },
    "cpp": {
        Status.PASSED: f"{CPP}int main() {{ assert(1 + 1 == 2); }}\n",
        Status.FAILED: f"{CPP}int main() {{ assert(1 + 1 == 3); }}\n",
        Status.RUNTIME_ERROR: f"{CPP}int main() {{ return 2; }}\n",
        Status.INCOMPLETE: f"{CPP}int main() {{ exit(0); }}\n",
        Status.COMPILE_ERROR: f"{CPP}int main() {{ return }}\n",
        Status.TIMEOUT: f"{CPP}int main() {{ for (volatile int i = 0;; i = i + 1) {{}} }}\n",
    },
    "csharp": {
        Status.PASSED: _csharp("Debug.Assert(1 + 1 == 2);"),
        Status.FAILED: _csharp("Debug.Assert(1 + 1 == 3);"),
        Status.RUNTIME_ERROR: _csharp("throw new InvalidOperationException();"),
        Status.INCOMPLETE: _csharp("Environment.Exit(0);"),
        Status.COMPILE_ERROR: _csharp("int x = ;"),
    },
}

_COMMENT = {"python": "#"}
_LIMITS = Limits(cpu_s=10, wall_s=60, memory_mb=512)


def languages() -> list[str]:
    """Those with a toolchain on this machine."""
    return [language for language in PROGRAMS if load_runtime(language).toolchain().available]


def source(language: str, status: Status, number: int) -> str:
    """The program with this verdict; another number is another text."""
    return f"{PROGRAMS[language][status]}{_COMMENT.get(language, '//')} {number}\n"


def limits(status: str) -> Limits:
    """Little time where all of it will be used."""
    return _LIMITS.model_copy(update={"cpu_s": 1.0}) if status == Status.TIMEOUT else _LIMITS


def requests(copies: int, *, shuffled: int = 0, repeat: int = 0) -> list[ExecutionRequest]:
    """All programs, so many of each kind, in an order drawn by ``shuffled``; the verdict ends the id."""
    made = [
        ExecutionRequest(
            id=f"{language} {number} {status.value}",
            language=language,
            source=source(language, status, number),
            limits=limits(status),
            repeat=repeat,
        )
        for language in languages()
        for status in PROGRAMS[language]
        for number in range(copies)
    ]
    random.Random(shuffled).shuffle(made)  # noqa: S311 - an order, no secret
    return made


def wanted(identity: str) -> str:
    """The verdict that a request or completion with this id must have."""
    return identity.rsplit(" ", 1)[1]


# --- a scoring run --------------------------------------------------------------------------------------------


class Faulty(DevBench):
    """Programs as whole answers, with little time."""

    def make_request(self, problem: Problem, text: str | None, profile: Profile) -> ExecutionRequest | None:
        """The answer is the program."""
        made = super().make_request(problem, text, profile)
        endless = text is not None and ("while True" in text or "for (volatile" in text)
        return made.model_copy(update={"limits": limits("timeout" if endless else "")}) if made else None


def problems() -> list[Problem]:
    """One a language, which shows nothing: the answer is the program."""
    return [
        Problem(
            id=f"{language}/low_context/fault",
            suite="devbench",
            shown=Caret(language=language, prefix="", suffix=""),
            splice=InlineSplice(before="", after=""),
            reference=source(language, Status.PASSED, 0),
            checks=(ProgramCheck(),),
            labels={"language": language, "category": "low_context", "mode": "no_suffix"},
            cluster=language,
            provenance=Provenance(source="a test"),
        )
        for language in languages()
    ]


def completions(copies: int) -> Iterator[Completion]:
    """Every program as the answer of a model that is named after its verdict."""
    for number in range(copies):
        for language in languages():
            for status in PROGRAMS[language]:
                yield Completion(
                    problem_id=f"{language}/low_context/fault",
                    model=f"says {status.value}",
                    sample=number,
                    text=source(language, status, number),
                )


def score(folder: Path, copies: int, *, use_cache: bool = True) -> None:
    """Score what is missing."""
    stage = ScoringStage(
        Faulty(), problems(), RunFolder(folder), get_policy("raw"), "default", LocalExecutor(8, use_cache=use_cache)
    )
    stage.add_completions(completions(copies))
    stage.run()


def jump() -> None:
    """From now on, the clock of the day jumps by up to ten days, to and fro, whenever somebody looks at it."""
    real, moments = time.time, random.Random(1)  # noqa: S311 - moments, no secrets

    def jumping() -> float:
        return real() + moments.uniform(-864_000, 864_000)

    time.time = jumping  # type: ignore[assignment]


if __name__ == "__main__":
    if "jump" in sys.argv[3:]:
        jump()
    score(Path(sys.argv[1]), int(sys.argv[2]))
