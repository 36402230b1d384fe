"""Options of ``caretbench build`` that all suites with tasks from projects have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from caretbench.build.project_sources import SOURCE_OPTIONS
from caretbench.options import Option, StringList
from caretbench.projects.settings import CheckSettings, Comparison, OutputSettings

TASKS_GROUP: Final = "Tasks"
"""Group of the options about tasks in the help."""
_PROJECT, _TESTS = "Project", "Tests"

_BEFORE: Final = (
    Option("language", StringList, "Language to mine; may be repeated. Default: all.", "build",
           flags=("--language", "-l"), help_group=_PROJECT),
    Option("exclude", StringList, "Pattern of paths that are not mined; may be repeated.", "build", metavar="PATTERN",
           help_group=_PROJECT),
    Option("setup", str, "Command that installs dependencies, run once with access to package indexes. auto: from the "
           "project's files (Python, JavaScript, TypeScript, Java).", "build", help_group=_PROJECT),
    Option("index", StringList, "Package index for --setup: a variable (PIP_INDEX_URL, npm_config_registry, …) or a "
           "host; may be repeated.", "build", metavar="[NAME=]ADDRESS", help_group=_PROJECT),
    Option("tests", Path, "Folder of further tests, which is laid next to the project's own.", "build",
           metavar="FOLDER", help_group=_TESTS),
    Option("test_command", str, "Command that runs the tests. Default: from caretbench.toml or the project's files.",
           "build", help_group=_TESTS),
    Option("junit", StringList, "JUnit reports that the test command writes; may be repeated.", "build",
           metavar="GLOB", help_group=_TESTS),
    Option("expect_output", str, "File of the project with the expected output, and its comparison: exact, "
           "whitespace, last_line or numeric.", "build", metavar="FILE[:HOW]", help_group=_TESTS),
    Option("directory", str, "Working folder of the test command, in the project.", "build", default=".",
           help_group=_TESTS),
    Option("env", StringList, "Environment variable of the test command; may be repeated.", "build",
           metavar="NAME=VALUE", help_group=_TESTS),
    Option("bundle", str, "Bundle of packages that the tests need (`caretbench deps`).", "build", help_group=_TESTS),
    Option("exclude_test", StringList, "Test that does not run, by its name in the messages; may be repeated.", "build",
           metavar="NAME", help_group=_TESTS),
    Option("all_tests", bool, "Refuse a project with a test that fails. Default: such tests are excluded and listed.",
           "build", flags=("--all-tests",), default=False, help_group=_TESTS),
)  # fmt: skip
_AFTER: Final = (
    Option("per_file", int, "Maximum number of candidates of one file. Default: no limit.", "build", minimum=1,
           help_group=TASKS_GROUP),
    Option("seed", int, "Random seed of the choice of candidates.", "build", default=0, help_group=TASKS_GROUP),
    Option("unverified", bool, "Also keep tasks for which no failing wrong answer was found.", "build",
           flags=("--unverified",), default=False, help_group=TASKS_GROUP),
    Option("reviewed", Path, "Export of a review by people: tasks that they rejected are dropped.", "build",
           metavar="PATH", help_group=TASKS_GROUP),
    Option("candidates_only", bool, "Stop before validation: write candidates.jsonl, and no tasks.", "build",
           flags=("--candidates-only",), default=False, help_group=TASKS_GROUP),
    Option("agent_tries", int, "Maximum number of recipes of the role agent for each project.", "build", default=4,
           minimum=1, help_group=_TESTS),
    Option("agent_minutes", float, "Maximum time of the role agent for each project, in minutes.", "build",
           default=30.0, help_group=_TESTS),
    Option("jobs", int, "Maximum number of commands that run at the same time. Default: the number of processors.",
           "build", flags=("--jobs", "-j"), minimum=1, help_group="Execution"),
)  # fmt: skip


def project_build_options(*own: Option) -> tuple[Option, ...]:
    """Return all options of a suite's build: of sources, project and tests, the suite's own, and of the choice."""
    return (*SOURCE_OPTIONS, *_BEFORE, *own, *_AFTER)


def common_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of :class:`~caretbench.build.project_tasks.block_miner.ProjectOptions` from option values.

    Raises:
        ValueError: a value is wrong.
    """
    return {
        "languages": tuple(values["language"] or ()),
        "check": _check(values),
        "setup": values["setup"],
        "exclude": tuple(values["exclude"] or ()),
        "unverified": values["unverified"],
        "exclude_tests": tuple(values["exclude_test"] or ()),
        "all_tests": values["all_tests"],
        "reviewed": values["reviewed"],
    }


def _check(options: Mapping[str, Any]) -> CheckSettings | None:
    command, junit, expected = options["test_command"], options["junit"], options["expect_output"]
    directory, bundle = options["directory"], options["bundle"]
    if command is None:
        if junit or expected or directory != "." or options["env"] or bundle:
            raise ValueError("--junit, --expect-output, --directory, --env and --bundle need --test-command")
        return None
    output = None
    if expected is not None:
        file, colon, how = expected.rpartition(":")
        known = get_args(Comparison)
        if colon and how not in known:
            raise ValueError(f"--expect-output {expected!r}: expected FILE[:HOW], with HOW one of {', '.join(known)}")
        output = OutputSettings.model_validate({"file": file, "comparison": how} if colon else {"file": expected})
    return CheckSettings(
        command=command,
        junit=tuple(junit or ()),
        minimum_tests=1 if junit else 0,
        output=output,
        directory=directory,
        environment=named_values("--env NAME=VALUE", options["env"]),
        bundle=bundle,
    )


def named_values(option: str, values: Sequence[str] | None) -> dict[str, str]:
    """Return the values of an option ``NAME=VALUE`` by name; ValueError if one has no ``=``."""
    name, _, form = option.partition(" ")
    wrong = next((pair for pair in values or () if "=" not in pair), None)
    if wrong is not None:
        raise ValueError(f"{name} {wrong!r}: expected {form}")
    return dict(pair.partition("=")[::2] for pair in values or ())
