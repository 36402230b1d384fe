"""What a sandbox costs: CPU of everything behind `/bin/true`, with walls of its own and with walls inside warm ones.

All processes are counted by an event of the kernel (accounting.py).
Usage: python benchmarks/walls.py [PROGRAMS]
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor

from accounting import accounted

from caretbench.execution.execution_types import Limits, WarmSettings
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox


def main(programs: int) -> None:
    """Cold and warm in turns, one at a time and eight at a time."""
    sandbox = Sandbox()
    sandbox.probe()

    def run(warm: WarmSettings | None) -> bool:
        return sandbox.run(Invocation(["/bin/true"], limits=Limits(), warm=warm, sentinel=True)).ok

    with accounted() as clock:
        for together in (1, 8):
            for name, warm in 2 * (("cold", None), ("warm", WarmSettings())):
                run(warm)
                before, begin = clock(), time.monotonic()
                with ThreadPoolExecutor(together) as pool:
                    passed = sum(pool.map(run, [warm] * programs))
                cpu_ms = (clock() - before) / programs * 1e3
                wall_ms = (time.monotonic() - begin) / programs * 1e3
                sys.stdout.write(
                    f"{name}, {together} at a time: {passed} of {programs}, "
                    f"{cpu_ms:.1f} ms CPU, {wall_ms:.1f} ms wall each\n"
                )
        sandbox.close()
        time.sleep(0.5)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
