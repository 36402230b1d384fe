"""Start of a Python command in a fork that has imported what it needs. Never imported: a warm sandbox runs its text.

It puts in place what ``python3 -m MODULE`` or ``python3 SCRIPT`` begins with: import path, ``__main__`` and arguments.
The process ends without taking the interpreter apart, which touches all the memory that it shares with its origin;
before, its threads are waited for, its exit handlers run, its modules are released and its output is flushed.
"""

import _frozen_importlib_external as importing
import atexit
import contextlib
import gc
import importlib
import os
import runpy
import signal
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _prepare(words: list[str]) -> None:
    """Put in place what the interpreter has when it starts."""
    # The folder is lib64 on Fedora and its relatives.
    archive = f"{sys.base_prefix}/{sys.platlibdir}/python{sys.version_info.major}{sys.version_info.minor}.zip"
    library = sys.path.index(archive)  # the first place of the standard library, which is always named
    folder = os.getcwd() if words[0] == "-m" else os.path.dirname(os.path.realpath(words[0]))
    first = filter(None, os.environ.get("PYTHONPATH", "").split(":"))
    sys.path[:] = [folder, *first, *sys.path[library:]]
    sys.orig_argv[:] = ["python3", *words]
    importlib.invalidate_caches()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=__builtins__, __annotations__={})


def _start(words: list[str], space: "dict[str, Any]") -> int:
    """Run the module or the script in the namespace of ``__main__``; return the exit status."""
    try:
        if words[0] == "-m":
            sys.argv[:] = ["-m", *words[2:]]
            runpy._run_module_as_main(words[1])  # type: ignore[attr-defined]  # what -m calls
        else:
            sys.argv[:] = words
            script = os.path.join(os.getcwd(), words[0])
            loader = importing.SourceFileLoader("__main__", script)
            space.update(__file__=script, __cached__=None, __loader__=loader)
            with open(script, "rb") as stream:
                text = stream.read()
            # The interpreter reads a file up to there, and `compile` refuses it.
            if b"\0" in text:
                os.execvp("python3", ["python3", *words])
            exec(compile(text, script, "exec", dont_inherit=True), space)
    except SystemExit as error:
        if error.code is not None and not isinstance(error.code, int):
            sys.stderr.write(f"{error.code}\n")
            return 1
        return (error.code or 0) & 0xFF
    except BaseException as error:
        trace = error.__traceback__
        # The traceback begins in the program, not here.
        error.__traceback__ = trace and trace.tb_next
        sys.excepthook(type(error), error, error.__traceback__)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _run() -> None:
    # Tests may put others in their place.
    leave, collect, kill, handle = os._exit, gc.collect, os.kill, signal.signal
    run_exit_handlers = atexit._run_exitfuncs
    streams, modules, known = (sys.stdout, sys.stderr), sys.modules, set(sys.modules) - {"__main__"}
    words = sys.argv[1:]  # the first is "-c"
    ours = sys.modules["__main__"]  # kept alive: this function's globals are its
    _prepare(words)
    status = _start(words, sys.modules["__main__"].__dict__)
    with contextlib.suppress(BaseException):
        sys.modules["threading"]._shutdown()
    run_exit_handlers()
    for output in (sys.stdout, sys.stderr):
        try:
            if output is not None and not output.closed:
                output.flush()
        except BaseException:
            status = status if status == INTERRUPTED else 120  # as the interpreter says it
    del output
    # What only they hold prints and closes now, as it does at a usual end.
    for name in set(modules) - known:
        modules.pop(name, None)
    collect()
    for output in streams:
        with contextlib.suppress(BaseException):
            output.flush()
    if status == INTERRUPTED:
        handle(signal.SIGINT, signal.SIG_DFL)
        kill(os.getpid(), signal.SIGINT)
    del ours
    leave(status)


INTERRUPTED = -signal.SIGINT
_run()
