"""Rule for cacheable results: only results that do not depend on the machine's load.

Never kept are out of memory, a missing module, a sandbox's fault and a skipped program; a timeout only where the
machine's load had no part in it.
"""

from __future__ import annotations

import signal

from caretbench.execution.classification import timed_out_by_itself
from caretbench.execution.execution_types import REFERENCE_CPU, ExecutionRequest, ExecutionResult, Status
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest, WorkspaceResult

LARGEST = 2 << 20
"""Maximum number of characters of a project's result. A larger one runs again: a cache is no store of files."""
_BY_REFERENCE = REFERENCE_CPU.partition("@")[0]
_KILLED = 128 + signal.SIGKILL


def is_cacheable(request: ExecutionRequest | WorkspaceRequest, result: ExecutionResult | WorkspaceResult) -> bool:
    """Return whether a repeated run would give the same result, so that it may be cached."""
    if isinstance(result, ExecutionResult):
        own = result.was_run and timed_out_by_itself(
            result.run_outcome, result.reason, result.signal, result.cpu_s, result.run_s
        )
        outcomes = {result.status, result.run_outcome}
        outside = _program_ended_from_outside(result)
    else:
        if isinstance(request, WorkspaceRequest) and request.network == "index":
            return False  # what it found there is no one's verdict
        own = timed_out_by_itself(result.status, result.reason, result.signal, result.cpu_s, result.wall_s)
        outcomes = {result.status}
        outside = _command_ended_from_outside(result)
        if sum(len(file.data) for file in result.files) > LARGEST:
            return False
    return not outside and all(one.is_repeatable or (own and one is Status.TIMEOUT) for one in outcomes)


def is_usable(request: ExecutionRequest | WorkspaceRequest, known: ExecutionResult | WorkspaceResult) -> bool:
    """Return whether a known result of the same program is that of a request with its own bound of CPU time.

    The bound depends on measured times, so it is no part of the key. A run that a bound ended says nothing about a
    larger one, nor one that took longer than the bound allows.
    """
    bound = request.run_limits.cpu_s
    if known.limit.startswith(_BY_REFERENCE):
        return known.limit == REFERENCE_CPU and known.limit_cpu_s >= bound
    return known.status is Status.TIMEOUT or bound == request.limits.cpu_s or known.cpu_s <= bound


def needs_confirmation(request: ExecutionRequest | WorkspaceRequest, result: ExecutionResult | WorkspaceResult) -> bool:
    """Return whether a reference failed in a way that other programs or a race may have caused, and must run again."""
    if not request.is_reference or result.runs_alone or not result.status.may_be_unlucky:
        return False
    return result.status is not Status.TIMEOUT or not is_cacheable(request, result)


def _program_ended_from_outside(result: ExecutionResult) -> bool:
    """Return whether the machine may have ended the program, as a kernel does that is short of memory."""
    killed = result.exit_code is None and result.signal in (None, signal.SIGKILL)
    return result.run_outcome is Status.RUNTIME_ERROR and result.was_run and killed


def _command_ended_from_outside(result: WorkspaceResult) -> bool:
    """Return whether the machine may have ended a process of the command."""
    return result.status.is_own_failure and (result.signal == signal.SIGKILL or result.exit_code in (None, _KILLED))
