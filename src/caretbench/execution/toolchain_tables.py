"""Toolchain tables: the runtime of each language, and the failure messages of its compiler and runtime."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

from caretbench.execution.execution_types import Status
from caretbench.languages import languages
from caretbench.languages.table_reader import LanguageTable, read_table


class FailurePattern(LanguageTable):
    """Pattern of an output, or an exit status, and the status of a failed program that matches it."""

    status: Status
    pattern: re.Pattern[str] = re.compile("")
    stream: Literal["stderr", "stdout"] = "stderr"
    """Output that is searched: some test libraries report failed assertions on standard output."""
    exit_code: int | None = None
    """Exit status of the program; None: any."""


class CompilerTable(LanguageTable):
    """Settings of a compiler that makes an executable of one source file.

    In ``link``, ``@object`` is the path of the sentinel's object.
    """

    command: str
    """Path of the compiler."""
    remedy: str
    """Command line that installs the compiler."""
    program: str
    """Name of the source file."""
    flags: tuple[str, ...] = ()
    paper_flags: tuple[str, ...] = ()
    sentinel: str
    """Source file of the harness whose object is linked to programs."""
    sentinel_flags: tuple[str, ...]
    """Compiler command for the sentinel's object file, without file names."""
    link: tuple[str, ...]
    environment: Mapping[str, str] = {}
    """Variables of the compiler."""
    run_environment: Mapping[str, str] = {}
    """Environment variables of compiled programs."""
    errors: re.Pattern[str]
    """Pattern of one compiler error; if all errors are missing modules, a missing module is the status."""


class InterpreterTable(LanguageTable):
    """Settings of an interpreter that runs one source file."""

    command: str
    """Path of the interpreter."""
    remedy: str
    """Command line that installs the interpreter."""
    program: str
    """Name of the source file."""
    version: tuple[str, ...] = ("--version",)
    """Arguments that print the version, and those of libraries on which outcomes depend, in one line."""
    title: str = ""
    """Name before a version that does not name the interpreter."""
    flags: tuple[str, ...] = ()
    heap_flags: tuple[str, ...] = ()
    """Flags of a second run after the first ran out of memory; ``@heap`` is three quarters of the limit in MB."""
    harness: tuple[str, ...]
    """Files of the harness."""
    harness_language: str = ""
    """Language whose folder has the harness, if it is another one."""
    sentinel: tuple[str, ...]
    """Arguments before the program that load the sentinel; ``@harness`` is the folder of the harness."""
    environment: Mapping[str, str] = {}
    """Environment variables of programs."""
    packages: Mapping[str, str] = {}
    """Path inside the sandbox of a bundle's folders, by name."""
    address_space_limit: bool = True
    """False for interpreters that reserve much more memory than they use."""


class ToolchainTable(LanguageTable):
    """Toolchain of one language: ``toolchain.toml`` in its folder."""

    runtime: str
    """Runtime class as ``module:Class``; it is called with a sandbox."""
    failures: tuple[FailurePattern, ...] = ()
    """Failure patterns in the order of trial; the first match decides the status."""
    missing_modules: tuple[re.Pattern[str], ...] = ()
    """Patterns by which a compiler or a runtime names a missing module: group 1."""
    compile_errors: tuple[str, ...] = ()
    """Regular expressions of lines that report that something does not compile, or cannot be parsed."""
    compiler: CompilerTable | None = None
    interpreter: InterpreterTable | None = None
    harness_frames: re.Pattern[str] | None = None
    """Pattern of the harness's lines in stack traces."""
    unseen_errors: re.Pattern[str] | None = None
    """Pattern of standard error where an error ended something that the exit status does not tell of."""
    exit_line_end: re.Pattern[str] | None = None
    """Line separator, if the harness sees on which lines an exit takes place."""


@cache
def toolchain_tables() -> Mapping[str, ToolchainTable]:
    """Return the tables of all languages that are run, by name, in the order of languages."""
    read = {name: read_table(name, "toolchain", ToolchainTable) for name in languages()}
    return {name: table for name, table in read.items() if table is not None}


def toolchain_table(language: str) -> ToolchainTable | None:
    """Return the table of a language; None where its programs are not run."""
    return toolchain_tables().get(language)
