"""Reasons why a project's own tests do not pass, from the result of their command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from caretbench.build.projects.test_outcomes import failing_names, slow_test
from caretbench.execution.classification import missing_modules, reports_compile_error
from caretbench.execution.execution_types import Status
from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.workspace_runner import WorkspaceResult

_NAMED = 5
# Runners end with a summary of a few lines; the lines before it are output of the tests.
_TAIL_LINES = 3
_MISSING = 8
_MAX_CHARACTERS = 200
_NETWORK = re.compile(
    r"name resolution|Name or service not known|Network is unreachable|getaddrinfo|UnknownHostException"
    r"|\b(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH)\b|nodename nor servname|Could not resolve host|No route to host",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"(?:getaddrinfo (?:EAI_AGAIN|ENOTFOUND)|UnknownHostException:|Could not resolve host:|Failed to resolve|lookup"
    r"|host=)\s*['\"]?((?:[\w-]+\.)+[a-z]{2,})\b",
    re.IGNORECASE,
)
"""Host that a test asks for."""
_NO_TESTS = re.compile(
    r"^(?:Ran 0 tests|collected 0 items|no tests ran|# tests 0|No tests were found!*|No test is available"
    r"|testing: warning: no tests to run|(?:=+ )?\d+ warnings? in \d+\.\d+s)",  # pytest's summary of nothing else
    re.MULTILINE,
)
_MAKE_DOES_NOTHING = re.compile(r"^make(?:\[\d+\])?: (?:Nothing to be done for .*|.* is up to date\.)$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_NOISE = re.compile(
    r"\s*(?:at (?:async |new )?[\w.$/<>\[\]]+ ?\(|at (?:async )?(?:file|node):|Node\.js v[\d.]+$"
    r"|\.\.\. \d+ (?:more|common frames)|\[ERROR\] ?(?:$|\[Help|Re-run|To see|For more))"
)
"""Stack traces of the JVM and of Node.js, and Maven's references to help pages; the message is before them."""
_ERROR = re.compile(r"\berror\b(?: \w+)?:|\bCMake Error\b", re.IGNORECASE)
_CMAKE_ERROR = re.compile(
    r"^CMake Error\b(?: (?:at|in) .*|:.*)\n(?:(?:[ \t]+.*)?\n)*?(?=Call Stack|\S|\Z)", re.MULTILINE
)
"""First message of CMake where it cannot configure a project, without its call stack."""
_CMAKE_CHARACTERS = 500
_ERROR_LINE = re.compile(r"^\w[\w.]*(?:error|exception|failure|exit|interrupt)\b.*", re.MULTILINE | re.IGNORECASE)
"""Last line of a traceback, by the name of the exception (``socket.gaierror`` too)."""
_AFTER_FRAMES = re.compile(r"^ .*\n(\S.*)$", re.MULTILINE)
"""Last line of a traceback, by its place."""
_INTERNAL = re.compile(r"^INTERNALERROR> ?(.*)$", re.MULTILINE)
"""Traceback of pytest where something other than a test stops it, such as an exit of a module that it imports."""
_OWN_FRAME = re.compile(rf'File "{re.escape(WORK)}/([^"]+)", line (\d+)')
_NPM_ERROR = re.compile(r"^npm (?:error|ERR!) ?(.*)$")
_NPM_NOISE = re.compile(
    r"(?:code \w+|\d{3}|A complete log of this run .*|Note that you can also .*|tarball, folder, http url.*"
    r"|In most cases you or one of your .*|a package version that .*)?"
)
"""Lines of npm that say nothing about the cause."""
_NPM_TAG = re.compile(r"^(?:\d{3}|notarget|notsup|network|syscall|errno|enoent|\w*resolve)\s+", re.IGNORECASE)


_NO_DIRECTORY = re.compile(r"^cannot enter (.+): ", re.MULTILINE)
"""Line of the sandbox where the working folder of a command is missing."""


# Long: one case for each cause, in the order of precedence.
def failure_reason(result: WorkspaceResult) -> str:
    """Return the reason why a project's own tests do not pass, as ``kind: explanation``."""
    output = "\n".join([result.stderr.text, result.stdout.text, *(test.message for test in result.tests)])
    lines = telling_lines(output)
    tail = " / ".join(lines[-_TAIL_LINES:])
    failing = ", ".join(failing_names(result)[:_NAMED])
    if result.status.is_machine_fault:
        return f"not_run: {result.reason or result.status.value}"
    if result.status is Status.TIMEOUT:
        slow = slow_test(result)
        named = f"; {slow} did not end: exclude it with --exclude-test {shlex.quote(slow)}" if slow else ""
        named = named or (f"; the last line that it printed: {lines[-1][:_MAX_CHARACTERS]}" if lines else "")
        return f"tests_hang: {result.reason}, the limit for the whole test command{named}"
    configured = _CMAKE_ERROR.search(result.stderr.text)
    # CMake prints warnings of the same form in builds whose tests run.
    if configured and not failing:
        cloned = "".join(f" {line}" for line in lines if line.startswith("fatal: "))
        return f"does_not_compile: {' '.join(configured[0].split())[:_CMAKE_CHARACTERS]}{cloned[:_MAX_CHARACTERS]}"
    # A compiler's message quotes the source, which may name such an error.
    if _NETWORK.search(output) and not reports_compile_error(result.stderr.text, result.stdout.text):
        return _network_reason(output, failing_names(result))
    if result.status is Status.UNRESOLVED_IMPORT:
        return _missing_reason(missing_modules(result.stderr.text) or (str(result.missing_module),))
    if runs_no_test(result):
        return f"no_tests: the command runs no test{_printed(tail)}"
    if result.status is Status.COMPILE_ERROR:
        first = " / ".join([line for line in lines if _ERROR.search(line)][:_TAIL_LINES])
        return f"does_not_compile: {first or tail}"
    if result.exit_code in (126, 127) and (entered := _NO_DIRECTORY.search(result.stderr.text)):
        return f"no_directory: {entered[1].removeprefix(f'{WORK}/')} is no folder of the project (--directory)"
    # Exit statuses of a shell: a command that cannot be executed, and one that is not found.
    if result.exit_code in (126, 127):
        return f"command_not_found: {tail or result.reason or 'the command cannot be started'}"
    error = _first_error(result)
    if failing and error:
        failing = f"{failing} ({error})"
    return f"tests_fail: {failing or result.reason or tail or f'exit status {result.exit_code}'}"


def _missing_reason(names: Sequence[str]) -> str:
    listed = ", ".join(names[:_MISSING])
    # mitt's tests import `..`, whose package.json names dist/mitt.js: no package has that.
    if all(name.startswith(".") for name in names):
        return f"missing_file: {listed}: a file of the project that its build writes; --setup must run that, too"
    return f"missing_dependency: {listed} {'is' if len(names) == 1 else 'are'} not installed; build a bundle with it"


def _network_reason(output: str, failing: Sequence[str]) -> str:
    of = f" ({', '.join(failing[:_NAMED])})" if failing else ""
    hosts = ", ".join(list(dict.fromkeys(_HOST.findall(output)))[:_NAMED])
    reached = f" ({hosts})" if hosts else ""
    option = shlex.quote(failing[0]) if failing else "NAME"
    return (
        f"tests_need_network: a test{of} needs the network{reached}, which a sandbox does not have; exclude it with "
        f"--exclude-test {option}, or name a --test-command without it"
    )


def telling_lines(output: str) -> list[str]:
    """Return the lines of an output without colours, empty lines, stack traces and references to help pages."""
    lines = (line.strip() for line in _COLOUR.sub("", output).splitlines())
    return [line for line in lines if line and not _NOISE.match(line)]


def npm_errors(output: str) -> list[str]:
    """Return the lines of npm's errors that tell the cause; the last is the place of a log, which does not."""
    said = [_NPM_TAG.sub("", match[1].strip()) for match in map(_NPM_ERROR.match, output.splitlines()) if match]
    return list(dict.fromkeys(line for line in said if not _NPM_NOISE.fullmatch(line)))


def _first_error(result: WorkspaceResult) -> str:
    """Return the error of the first failed test, or the one that stopped pytest, with the last place in the project."""
    internal = "\n".join(_INTERNAL.findall(f"{result.stdout.text}\n{result.stderr.text}"))
    if raised := _ERROR_LINE.findall(internal):
        places = [f", at {path}:{line}" for path, line in _OWN_FRAME.findall(internal) if not path.startswith(".")]
        return f"{raised[-1][:_MAX_CHARACTERS]}{''.join(places[-1:])}"
    failed = (test.message for test in result.tests if test.outcome in ("failed", "error"))
    return first_error(next(filter(None, failed), ""))


def first_error(message: str) -> str:
    """Return the line of a failed test's message that names the error; the first line if none does."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    telling = [line for line in marked if "Error" in line or "not found" in line]
    raised = []
    if lines and lines[0].startswith("Traceback"):
        raised = (_ERROR_LINE.findall(message) or _AFTER_FRAMES.findall(message))[-1:]
    return (telling or marked or raised or lines or [""])[0][:_MAX_CHARACTERS]


def runs_no_test(result: WorkspaceResult) -> bool:
    """Return whether a command that ended ran no test."""
    if result.tests:
        return result.has_no_tests
    if _NO_TESTS.search(result.stdout.text) or _NO_TESTS.search(result.stderr.text):
        return True
    output = f"{result.stdout.text}\n{result.stderr.text}"
    return bool(_MAKE_DOES_NOTHING.search(output)) and not _MAKE_DOES_NOTHING.sub("", output).strip()


def no_tests_reason(result: WorkspaceResult) -> str:
    """Return the reason why a command that succeeds, but runs no test, is refused."""
    message = _MAKE_DOES_NOTHING.search(f"{result.stdout.text}\n{result.stderr.text}")
    tail = " / ".join(telling_lines(f"{result.stderr.text}\n{result.stdout.text}")[-_TAIL_LINES:])
    why = f" ({message[0]})" if message else _printed(tail)
    return f"no_tests: the command succeeds, but runs no test{why}; name the one that runs them"


def _printed(tail: str) -> str:
    return f", and prints: {tail[-_MAX_CHARACTERS:]}" if tail else ""
