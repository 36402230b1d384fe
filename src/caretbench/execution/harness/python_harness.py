"""Runs a program as ``__main__`` and writes the completion word when its end was reached.

Its text is handed to the interpreter inside the sandbox (``-c``); arguments: the program's path, and ``bundled``
where the bundle alone provides packages.
"""


def _run() -> None:
    import os
    import sys
    import types

    path, packages = sys.argv[1], sys.argv[2]
    ends = os.environ.pop("CARETBENCH_SENTINEL").split(":")
    word = os.read(int(ends[0]), 64)
    os.close(int(ends[0]))
    write, done = os.write, int(ends[1])
    sys.argv[:] = [path]
    sys.path[0] = os.path.dirname(path)
    if packages == "bundled":
        sys.path[:] = [place for place in sys.path if not place.endswith("dist-packages")]
    ours = sys.modules["__main__"]  # kept alive: this function's globals are its
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __cached__=None, __builtins__=__builtins__)
    sys.modules["__main__"] = main
    with open(path, "rb") as stream:
        code = compile(stream.read(), path, "exec", dont_inherit=True)
    exec(code, main.__dict__)
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    write(done, word)
    del ours


_run()
