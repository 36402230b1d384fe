from __future__ import annotations

import os
from pathlib import Path

import pytest

from caretbench.execution.runtimes.batch import (
    OUTPUT,
    Answer,
    BatchCompiler,
    Program,
    compile_batch,
    read_artefact,
)
from caretbench.execution.sandbox import WORK, Sandbox, SandboxUnavailable
from caretbench.execution.types import CompileResult, ExecutionRequest, Limits, Status
from caretbench.execution.walls import launcher_interpreter

# A compiler that copies its programs, and does to itself what they say.
COMPILER = f"""
import json, os, sys, time
def say(**values): print(json.dumps(values), flush=True)
for index, option in enumerate(sys.argv[1:]):
    text = open(f"{WORK}/{{index}}.source").read()
    if text == "silent": sys.exit(1)
    say(begin=index)
    if text == "die": os.abort()
    if text == "sleep": time.sleep(600)
    if text == "hoard": hoard = [b"x" * index for index in range(1 << 26, 1 << 30)]
    if text == "watched":
        say(index=index, kind="timeout")
        os.abort()
    print("not json", flush=True)
    open(f"{OUTPUT}/{{index}}/program", "w").write(text + option)
    say(index=index, kind="ok", seconds=0.5)
"""


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    made = Sandbox()
    try:
        made.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    return made


def compile_texts(sandbox: Sandbox, folder: Path, *texts: str, wall_s: float = 60) -> list[CompileResult]:
    folder.chmod(0o755)
    interpreter, binds = launcher_interpreter()

    def verdict(answer: Answer, request: ExecutionRequest) -> Status | None:
        del request
        return None if answer.kind == "ok" else Status(answer.kind)

    compiler = BatchCompiler(lambda options: (interpreter, "-c", COMPILER, *options), verdict, binds, {})
    programs = []
    for place, text in enumerate(texts):
        artefact = folder / str(place)
        artefact.mkdir(mode=0o755)
        limits = Limits(compile_wall_s=wall_s)
        request = ExecutionRequest(id=str(place), language="java", source=text, limits=limits)
        programs.append(Program(request, artefact, f"-{place}"))
    return compile_batch(sandbox, lambda _: compiler, programs)


def test_every_program_gets_its_own_folder_and_option(sandbox: Sandbox, tmp_path: Path) -> None:
    results = compile_texts(sandbox, tmp_path, "a", "b")
    assert [result.status for result in results] == [None, None]
    assert [read_artefact(result.artefact / "program") for result in results if result.artefact] == [
        "a-0",
        "b-1",
    ]
    assert results[0].compile_s == 0.5


@pytest.mark.parametrize(
    ("fatal", "status"),
    [
        ("die", Status.COMPILE_ERROR),
        ("sleep", Status.TIMEOUT),
        ("hoard", Status.OUT_OF_MEMORY),
        ("watched", Status.TIMEOUT),
    ],
)
def test_a_program_that_ends_the_compiler_harms_no_other(
    sandbox: Sandbox, tmp_path: Path, fatal: str, status: Status
) -> None:
    results = compile_texts(sandbox, tmp_path, "a", fatal, "b", wall_s=3 if fatal == "sleep" else 60)
    assert [result.status for result in results] == [None, status, None]
    assert results[1].artefact is None


def test_two_fatal_programs(sandbox: Sandbox, tmp_path: Path) -> None:
    results = compile_texts(sandbox, tmp_path, "die", "a", "die", "b")
    assert [result.status for result in results] == [Status.COMPILE_ERROR, None, Status.COMPILE_ERROR, None]


def test_a_compiler_that_does_not_start_is_our_fault(sandbox: Sandbox, tmp_path: Path) -> None:
    results = compile_texts(sandbox, tmp_path, "silent", "a")
    assert {result.status for result in results} == {Status.SANDBOX_ERROR}


def test_artefacts_are_not_read_through_links(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (tmp_path / "link").symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        read_artefact(tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    assert read_artefact(tmp_path / "pipe") == ""
