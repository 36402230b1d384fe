"""What one would type: the command lines that the executor is measured beside, as shell lines by language.

``plain`` is a fresh compiler and a fresh process for every program. ``released`` has the flags of DevBench's released
runner, what it runs beside them (``g++ --version`` before every program, a TypeScript check up to five times where it
objects) and what it writes before every Python program. What it does over the network is left out, in its favour:
installing packages, and with them TypeScript itself. Its C# (``dotnet run``) restores packages over the network, which
no sandbox has: the compiler's own command stands for it.

``{NAME}`` in a line: CLASS is Java's public class, JARS the class path, TSC TypeScript's command line, CSC the C#
compiler, DOTNET its host, REFERENCES the folder of the framework's assemblies, RUNTIME the file that names the
framework, COMPILE and LINK are a bundle's flags.
"""

from __future__ import annotations

from typing import NamedTuple


class CommandLines(NamedTuple):
    """The file that a program is put into, and the two ways to run it."""

    program: str
    plain: str
    released: str
    header: str = ""
    """What the released runner writes before every program."""


_TSC = (
    "node {TSC} main.ts --outDir . --target ES2020 --module commonjs --esModuleInterop "
    "--allowSyntheticDefaultImports --skipLibCheck"
)
_CSC = (
    "for dll in {REFERENCES}/*.dll; do echo -r:$dll; done > references && {DOTNET} exec {CSC} -nologo -noconfig "
    "-nowarn:CS1701,CS1702 -langversion:latest -define:DEBUG,TRACE @references -out:program.dll main.cs && "
    "echo '{RUNTIME}' > program.runtimeconfig.json && {DOTNET} exec program.dll"
)

COMMAND_LINES = {
    "python": CommandLines(
        program="main.py",
        plain="python3 main.py",
        released="python3 main.py",
        header="import os\nimport asyncio\nimport matplotlib\nimport matplotlib.pyplot as plt\n",
    ),
    "javascript": CommandLines(program="test.js", plain="node test.js", released="node test.js"),
    "typescript": CommandLines(
        program="main.ts",
        plain=f"{_TSC} && node main.js",
        released=f"for try in 1 2 3 4 5; do {_TSC} && break; done; node main.js",
    ),
    "java": CommandLines(
        program="{CLASS}.java",
        plain="javac -cp '{JARS}:.' {CLASS}.java && java -ea -cp '{JARS}:.' {CLASS}",
        released="javac -cp '{JARS}:.' {CLASS}.java && java -ea -cp '{JARS}:.' {CLASS}",
    ),
    "cpp": CommandLines(
        program="main.cpp",
        plain="g++ -std=c++17 {COMPILE} main.cpp -o program -pthread {LINK} && ./program",
        released="g++ --version > version; "
        "g++ -std=c++17 -Wall -O2 {COMPILE} main.cpp -o program -pthread {LINK} && ./program",
    ),
    "csharp": CommandLines(program="main.cs", plain=_CSC, released=_CSC),
}
