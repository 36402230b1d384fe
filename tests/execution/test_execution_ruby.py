"""Ruby programs: a language that is a folder, by the runtime of any interpreter."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from caretbench.execution.classification import reports_compile_error
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Limits, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.toolchains import base_runtime, load_runtime
from caretbench.execution.toolchains.base_runtime import InterpretedRuntime
from tests.support.compiled_programs import need_toolchain, run_programs


def minitest(body: str, *above: str) -> str:
    """A program that tests itself by minitest."""
    lines = "".join(f"{line}\n" for line in above)
    return (
        f"{lines}require 'minitest/autorun'\nclass SumTest < Minitest::Test\n  def test_sum\n    {body}\n  end\nend\n"
    )


FAILS = "assert_equal 3, 1 + 1"

PROGRAMS = {
    "passed": ("raise unless [1, 2].sum == 3\n", Status.PASSED),
    "minitest": (minitest("assert_equal 2, 1 + 1"), Status.PASSED),
    "the file that is started": (
        "# frozen_string_literal: true\nraise 'no' unless __FILE__ == $PROGRAM_NAME && 'a'.frozen? && ARGV.empty?\n",
        Status.PASSED,
    ),
    "names of the top level": (
        "BEGIN { began = 1 }\nx = 5\nraise unless eval('x + began', TOPLEVEL_BINDING) == 6\n"
        "raise unless binding.local_variables.sort == %i[began x] && self.inspect == 'main'\n",
        Status.PASSED,
    ),
    "data": ("raise unless DATA.read == \"a\\nb\\n\"\n__END__\na\nb\n", Status.PASSED),
    "a text that looks like the end": ("x = <<~A\n__END__\n  a\nA\nraise x unless x.lines.size == 2\n", Status.PASSED),
    "exits in tests": (
        "require 'minitest/autorun'\nclass T < Minitest::Test\n def test_a\n"
        "  assert_raises(SystemExit) { abort }\n end\nend\n",
        Status.PASSED,
    ),
    "hooks": ("at_exit { puts 1 }\nEND { puts 2 }\ntrap('EXIT') { puts 3 }\n", Status.PASSED),
    "a child": ("pid = fork { exit 3 }\nProcess.wait(pid)\nraise unless $?.exitstatus == 3\n", Status.PASSED),
    "mocks": (
        "class IO; def syswrite(*) = raise; end\nmodule Process; def self.pid = 0; end\n"
        "class String; def ==(other) = false; end\n",
        Status.PASSED,
    ),
    "network": (
        "require 'socket'\nbegin\n  TCPSocket.new('192.0.2.1', 80)\n  raise 'reached'\nrescue SystemCallError\nend\n",
        Status.PASSED,
    ),
    "failed": (minitest(FAILS), Status.FAILED),
    "failed outside of tests": (
        "require 'minitest'\ninclude Minitest::Assertions\nclass << self; attr_accessor :assertions; end\n"
        "self.assertions = 0\nassert_equal 1, 2\n",
        Status.FAILED,
    ),
    "an error in a test": (minitest("nil.size"), Status.RUNTIME_ERROR),
    "raised": ("def f = raise(ArgumentError, 'x')\nf\n", Status.RUNTIME_ERROR),
    "uncaught throw": ("throw :x\n", Status.RUNTIME_ERROR),
    "stack": ("def f(n) = f(n + 1) + 1\nf(0)\n", Status.RUNTIME_ERROR),
    "exit status": ("exit 3\n", Status.RUNTIME_ERROR),
    "abort": ("abort 'over'\n", Status.RUNTIME_ERROR),
    "a return of a block": ("[1].each { return }\n", Status.RUNTIME_ERROR),
    "early exit": ("exit\nraise\n", Status.INCOMPLETE),
    "early exit without handlers": ("exit!(true)\nraise\n", Status.INCOMPLETE),
    "early return": ("return\nraise\n", Status.INCOMPLETE),
    "early exit in a thread": ("Thread.new { exit 0 }.join\nraise\n", Status.INCOMPLETE),
    "the main thread ends": ("Thread.main.kill\nraise\n", Status.INCOMPLETE),
    "another program": ("exec 'true'\n", Status.INCOMPLETE),
    "the end in a child": ("exit 0 if fork\n", Status.INCOMPLETE),
    "exit in a handler": ("at_exit { exit 0 }\nraise 'x'\n", Status.INCOMPLETE),
    "exit in a trap": ("trap('EXIT') { exit 0 }\nraise 'x'\n", Status.INCOMPLETE),
    "exit after failed tests": (minitest(FAILS, "at_exit { exit 0 }"), Status.INCOMPLETE),
    "exit at the end after failed tests": (minitest(FAILS, "END { exit 0 }"), Status.INCOMPLETE),
    "exit before tests": (minitest(FAILS) + "at_exit { exit! 0 }\n", Status.INCOMPLETE),
    "printed sentinel": ("puts ENV['CARETBENCH_SENTINEL'].to_s + ' D'\nexit 0\n", Status.INCOMPLETE),
    "written sentinel": (
        "(3..9).each { |n| IO.for_fd(n, autoclose: false).syswrite('D') rescue nil }\nexit! 0\n", Status.INCOMPLETE,
    ),
    "the word is not found": (
        "ObjectSpace.each_object(String).select { |s| s.match?(/\\A[\\w-]{32}\\z/) }.each do |s|\n"
        "  (3..9).each { |n| IO.for_fd(n, autoclose: false).syswrite(s) rescue nil }\nend\nexit! 0\n",
        Status.INCOMPLETE,
    ),
    "another equality": (
        "class String; def ==(other) = true; end\nclass BasicObject; def ==(other) = true; end\nreturn\nraise\n",
        Status.INCOMPLETE,
    ),
    "another puts": ("module Kernel; def puts(*) = exit!(0); end\nputs 1\nraise\n", Status.INCOMPLETE),
    "the sentinel is taken": ("raise if ENV.key?('CARETBENCH_SENTINEL')\n", Status.PASSED),
    "syntax": ("def f(\n", Status.COMPILE_ERROR),
    "unfinished": ("x =", Status.COMPILE_ERROR),
    "syntax of another kind": ("def f\n  A = 1\nend\n", Status.COMPILE_ERROR),
    "syntax in an evaluated text": ("eval('def f(')\n", Status.COMPILE_ERROR),
    "missing gem": ("require 'rails/all'\n", Status.UNRESOLVED_IMPORT),
}  # fmt: skip


@pytest.fixture(scope="module")
def results() -> Mapping[str, ExecutionResult]:
    return run_programs("ruby", {name: source for name, (source, _) in PROGRAMS.items()})


def test_outcomes(results: Mapping[str, ExecutionResult]) -> None:
    found = {name: results[name].status for name in PROGRAMS}
    assert found == {name: status for name, (_, status) in PROGRAMS.items()}


def test_messages_name_what_happened(results: Mapping[str, ExecutionResult]) -> None:
    assert results["missing gem"].missing_module == "rails/all"
    assert results["raised"].stderr.text == ("main.rb:1:in `f': x (ArgumentError)\n\tfrom main.rb:2:in `<main>'\n")
    assert reports_compile_error(results["syntax"].stderr.text)
    assert not reports_compile_error(results["raised"].stderr.text)
    assert results["early exit"].reason == "exit status 0, but the end of the program was not reached"


@pytest.mark.smoke
def test_paper_takes_exit_status_0_for_a_pass() -> None:
    names = ("passed", "failed", "early exit", "missing gem", "syntax")
    ran = run_programs("ruby", {name: PROGRAMS[name][0] for name in names}, profile="paper")
    assert {name: ran[name].status for name in names} == {
        "passed": Status.PASSED,
        "failed": Status.FAILED,
        "early exit": Status.PASSED,
        "missing gem": Status.UNRESOLVED_IMPORT,
        "syntax": Status.COMPILE_ERROR,
    }


def test_an_exit_of_the_problem_is_an_end() -> None:
    """An exit behind the answer counts, one within it, or that the answer caused, does not."""
    need_toolchain("ruby")
    behind = "def f\n  1\nend\nraise unless f == 1\nexit 0\n"
    within = "def f\n  exit 0\nend\nraise unless f == 1\nexit 0\n"
    requests = [
        ExecutionRequest(id=name, language="ruby", source=source, answer_lines=(2, 2))
        for name, source in {"behind": behind, "within": within}.items()
    ]
    found = {result.id: result.status for result in LocalExecutor(workers=2, use_cache=False).submit(requests)}
    assert found == {"behind": Status.PASSED, "within": Status.INCOMPLETE}


def test_bounds() -> None:
    need_toolchain("ruby")
    programs = {
        "for ever": ("loop {}\n", Limits(cpu_s=1)),
        "waits": ("sleep\n", Limits(wall_s=3)),
        "memory": ("kept = []\nloop { kept << 'a' * (1 << 20) }\n", Limits(memory_mb=256)),
        "output": ("loop { puts 'x' * 65_536 }\n", Limits(output_kill_mb=1)),
        # Ruby tries again where there is no room for a process.
        "processes": ("loop { fork { sleep } }\n", Limits(pids=32, wall_s=3)),
    }
    requests = [
        ExecutionRequest(id=name, language="ruby", source=source, limits=limits)
        for name, (source, limits) in programs.items()
    ]
    found = {result.id: result.status for result in LocalExecutor(workers=2, use_cache=False).submit(requests)}
    assert found == {
        "for ever": Status.TIMEOUT,
        "waits": Status.TIMEOUT,
        "memory": Status.OUT_OF_MEMORY,
        "output": Status.OUTPUT_LIMIT,
        "processes": Status.TIMEOUT,
    }


def test_without_the_interpreter_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_runtime, "tool_version", lambda *_: None)
    request = ExecutionRequest(id="a", language="ruby", source="")
    [result] = LocalExecutor(workers=1, use_cache=False).submit([request])
    assert result.status is Status.SKIPPED
    assert "install ruby" in result.reason


def test_the_runtime_knows_no_language_by_its_name() -> None:
    assert type(load_runtime("ruby")) is type(load_runtime("javascript")) is InterpretedRuntime
