"""Start of pytest in an interpreter that has imported it. Never imported: a fork of a warm sandbox runs its text.

It puts in place what ``python3 -m pytest`` begins with: import path, ``__main__`` and arguments. The process ends
without taking the interpreter apart, which touches all the memory that it shares with its origin; before, its threads
are waited for, its exit handlers run and its output is flushed.
"""


def _run() -> None:
    import atexit
    import importlib
    import os
    import runpy
    import signal
    import sys
    import types

    # Tests may put others in their place.
    leave, run_exit_handlers = os._exit, atexit._run_exitfuncs
    archive = f"{sys.base_prefix}/lib/python{sys.version_info.major}{sys.version_info.minor}.zip"
    library = sys.path.index(archive)  # the first place of the standard library, which is always named
    first = filter(None, os.environ.get("PYTHONPATH", "").split(":"))
    sys.path[:] = [os.getcwd(), *first, *sys.path[library:]]
    importlib.invalidate_caches()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)  # as the interpreter does when it starts
    ours = sys.modules["__main__"]  # kept alive: this function's globals are its
    sys.modules["__main__"] = types.ModuleType("__main__")
    status = 0
    try:
        runpy._run_module_as_main("pytest")  # type: ignore[attr-defined]  # what -m calls
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
        if status and not isinstance(error.code, int):
            sys.stderr.write(f"{error.code}\n")
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    run_exit_handlers()
    for output in (sys.stdout, sys.stderr):
        try:
            if output is not None and not output.closed:
                output.flush()
        except Exception:
            status = status or 120  # as the interpreter says it
    del ours
    leave(int(status) & 0xFF)


_run()
