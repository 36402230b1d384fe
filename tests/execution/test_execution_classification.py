from __future__ import annotations

import signal

import pytest

from caretbench.execution.classification import classify, hit_shared_limit, missing_module
from caretbench.execution.execution_types import CapturedOutput, Limits, Status
from caretbench.execution.sandbox.invocation import KillReason
from caretbench.execution.sandbox.supervisor import SandboxResult

LIMITS = Limits(cpu_s=5)


def judge(result: SandboxResult, failure: Status = Status.RUNTIME_ERROR, *, paper: bool = False) -> Status:
    return classify(result, sentinel=not paper, limits=LIMITS, failure_status=lambda _text, _code: failure)[0]


@pytest.mark.parametrize(
    ("killed", "status"),
    [
        ("output", Status.OUTPUT_LIMIT),
        ("memory", Status.OUT_OF_MEMORY),
        ("wall", Status.TIMEOUT),
        ("cpu", Status.TIMEOUT),
        ("processes", Status.RUNTIME_ERROR),
    ],
)
def test_what_was_killed_from_outside(killed: KillReason, status: Status) -> None:
    assert judge(SandboxResult(killed=killed)) is status
    assert judge(SandboxResult(killed=killed, error="not built")) is Status.SANDBOX_ERROR


def test_exit_status_and_sentinel_decide_a_pass() -> None:
    assert judge(SandboxResult(exit_code=0, sentinel=True)) is Status.PASSED
    assert judge(SandboxResult(exit_code=0)) is Status.INCOMPLETE
    assert judge(SandboxResult(exit_code=0), paper=True) is Status.PASSED
    assert judge(SandboxResult(exit_code=1, sentinel=True)) is Status.RUNTIME_ERROR


def test_a_signal_at_the_cpu_limit_is_a_timeout() -> None:
    assert judge(SandboxResult(signal=signal.SIGXCPU, cpu_s=4.3)) is Status.TIMEOUT
    assert judge(SandboxResult(signal=signal.SIGKILL, cpu_s=5.9)) is Status.TIMEOUT
    assert judge(SandboxResult(signal=signal.SIGKILL, cpu_s=0.1)) is Status.RUNTIME_ERROR
    assert judge(SandboxResult(signal=signal.SIGSEGV, cpu_s=5.0)) is Status.RUNTIME_ERROR


def test_a_sandbox_that_ended_with_its_program_is_the_programs_failure() -> None:
    assert judge(SandboxResult()) is Status.RUNTIME_ERROR


@pytest.mark.parametrize("claim", [Status.SANDBOX_ERROR, Status.SKIPPED, Status.PASSED])
def test_a_failure_can_only_be_a_failure_of_the_program(claim: Status) -> None:
    forged = SandboxResult(exit_code=126, stderr=CapturedOutput(text="bwrap: setting up uid map: Permission denied"))
    assert judge(forged, claim) is Status.RUNTIME_ERROR


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("ModuleNotFoundError: No module named 'a'\n...\nModuleNotFoundError: No module named 'b.c'", "b.c"),
        ("Error: Cannot find module 'express'\nRequire stack:", "express"),
        ("main.cpp:3:10: fatal error: nlohmann/json.hpp: No such file or directory", "nlohmann/json.hpp"),
        ("error TS2307: Cannot find module '@aws/sdk' or its types", "@aws/sdk"),
        ("Main.java:1: error: package org.junit does not exist", "org.junit"),
        ("AssertionError", None),
    ],
)
def test_missing_modules_are_named(text: str, module: str | None) -> None:
    assert missing_module(text) == module


@pytest.mark.parametrize(
    "stderr",
    [
        "    main, terminal = os.openpty()\n           ~~~~~~~~~~^^\nOSError: [Errno 28] No space left on device\n",
        "OSError: out of pty devices\n",
        "OSError: [Errno 28] No space left on device: '/dev/ptmx'\n",
        "openpty: No space left on device\n",
        "Error: forkpty(3) failed.\n",
    ],
)
def test_a_program_that_found_no_terminal_runs_again_alone(stderr: str) -> None:
    assert hit_shared_limit(Status.RUNTIME_ERROR, stderr)
    assert not hit_shared_limit(Status.PASSED, stderr)


def test_a_full_disk_is_no_want_of_terminals() -> None:
    stderr = "OSError: [Errno 28] No space left on device: '/tmp/work/x'\n"
    assert not hit_shared_limit(Status.RUNTIME_ERROR, stderr)
