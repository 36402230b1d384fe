"""Runs a program as ``__main__`` and writes the completion word when its end was reached.

Without a channel for that word (the profile ``paper``) the exit status alone decides, as where the file is started; the
harness is then only a way into an interpreter that has imported packages already.

Its text is handed to the interpreter inside the sandbox (``-c``); arguments: the program's path, and ``bundled``
where the bundle alone provides packages.

The process ends without taking the interpreter apart: that touches all the memory that a forked interpreter shares
with its origin, and costs several times what most programs do. What a program can notice of an end is done before:
its threads are waited for, its exit handlers run, its objects are released, its output is flushed.

With the channel, an assertion that fails in a thread, a task, a forked process, ``__del__`` or an exit handler fails
the program: the exit status does not tell of it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # programs must not find `typing` imported
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _watch_assertions(source: bytes) -> tuple[Callable[[object], object], Callable[[], bool]]:
    """Return a function that notes a failed assertion, and one that tells whether any failed out of sight."""
    import mmap
    import sys
    import threading

    # Forked processes share the memory; a pipe would be two descriptors more that the program holds.
    failed = mmap.mmap(-1, 1)

    def note(error: object) -> None:
        if isinstance(error, AssertionError):
            failed[0] = 1

    def noting(hook: Callable[[Any], object]) -> Callable[[Any], None]:
        def noted(arguments: Any) -> None:
            note(arguments.exc_value)
            hook(arguments)

        return noted

    threading.excepthook = noting(threading.excepthook)
    sys.unraisablehook = noting(sys.unraisablehook)
    if b"asyncio" in source:
        from asyncio.base_events import BaseEventLoop

        report = BaseEventLoop.call_exception_handler

        def reported(loop: Any, context: dict[str, Any]) -> None:
            note(context.get("exception"))
            report(loop, context)

        BaseEventLoop.call_exception_handler = reported  # type: ignore
    if b"multiprocessing" in source:
        from multiprocessing.process import BaseProcess

        start = BaseProcess._bootstrap  # type: ignore[attr-defined]

        def started(process: Any, *arguments: Any, **more: Any) -> Any:
            run = process.run

            def watched() -> None:
                try:
                    run()
                except AssertionError as error:
                    note(error)
                    raise

            process.run = watched
            return start(process, *arguments, **more)

        BaseProcess._bootstrap = started  # type: ignore[attr-defined]

    def has_failed() -> bool:
        return bool(failed[0])

    return note, has_failed


def _run() -> None:
    import _frozen_importlib_external as importing
    import atexit
    import os
    import sys
    import types

    path, packages = sys.argv[1], sys.argv[2]
    ends = [int(end) for end in os.environ.pop("CARETBENCH_SENTINEL", "").split(":") if end]
    lines = [int(line) for line in os.environ.pop("CARETBENCH_ANSWER_LINES", "").split(":") if line]
    word, done = b"", ends[1] if ends else -1
    if ends:
        word = os.read(ends[0], 64)
        os.close(ends[0])
    # A program may put others in their place.
    write, leave, run_exit_handlers = os.write, os._exit, atexit._run_exitfuncs
    process, started = os.getpid, os.getpid()
    sys.argv[:] = [path]
    sys.path[0] = os.path.dirname(path)
    if packages == "bundled":
        sys.path[:] = [place for place in sys.path if not place.endswith("dist-packages")]
    ours = sys.modules["__main__"]  # kept alive: this function's globals are its
    main = types.ModuleType("__main__")
    loader = importing.SourceFileLoader("__main__", path)
    main.__dict__.update(
        __file__=path, __cached__=None, __builtins__=__builtins__, __loader__=loader, __annotations__={}
    )
    sys.modules["__main__"] = main
    status = 0
    note: Callable[[object], object] = id
    has_failed: Callable[[], bool] = bool
    if "numpy.random" in sys.modules:  # `random` seeds itself in a fork; all forks had the same numbers of NumPy
        sys.modules["numpy.random"].seed()

    def exits_behind_answer(error: BaseException) -> bool:
        # The innermost line of the program on the stack lies behind the answer, and no line of the answer is on it.
        trace, passed = error.__traceback__, []
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == path:
                passed.append(trace.tb_lineno)
            trace = trace.tb_next
        first, last = lines
        return bool(passed) and passed[-1] > last and not any(first <= line <= last for line in passed)

    try:
        with open(path, "rb") as stream:
            source = stream.read()
        code = compile(source, path, "exec", dont_inherit=True)
        if done >= 0:
            note, has_failed = _watch_assertions(source)
        exec(code, main.__dict__)
    except BaseException as error:
        if isinstance(error, SystemExit) and not (lines and not error.code and exits_behind_answer(error)):
            raise
        if not isinstance(error, SystemExit):
            trace = error.__traceback__
            error.__traceback__ = trace and trace.tb_next  # begins in the program, not here
            sys.excepthook(type(error), error, error.__traceback__)
            status = 1
            if process() != started:
                note(error)
            del trace
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    run_exit_handlers()

    def flush() -> None:
        nonlocal status
        for output in (sys.stdout, sys.stderr):
            try:
                if output is not None and not output.closed:
                    output.flush()
            except Exception:
                status = status or 120  # as the interpreter says it

    # In the interpreter's order. A stream of the program's own (`class FastIO(IOBase)`, in 26 of 1,555 programs of
    # contests) needs its globals to be flushed; destructors write to the original streams.
    flush()
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    main.__dict__.clear()
    status = status or has_failed()
    if done >= 0 and status == 0 and process() == started:  # a forked child comes to this place too
        write(done, word)
    flush()
    del ours
    leave(status)


_run()
