"""Which command tests a project: the user's word, the project's own, or what its files tell."""

import json
from pathlib import Path

import pytest

from caretbench.build.projects.setup import command_detection
from caretbench.build.projects.setup.command_detection import detect_command, project_checks
from caretbench.errors import DataError
from caretbench.projects.settings import CheckSettings, OutputSettings, read_settings
from tests.support.project_files import snapshot


def script(text: str) -> str:
    return json.dumps({"scripts": {"test": text}}, indent=2)


JUNIT = "import org.junit.Test;\n"
KINDS = {
    "pytest by its folder": ({"tests/conftest.py": ""}, "python", "pytest"),
    "pytest by pyproject": ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python", "pytest"),
    "unittest": ({"tests/test_a.py": ""}, "python", "unittest"),
    "unittest in the root": ({"test_a.py": ""}, "python", "unittest"),
    "a script": ({"package.json": script("node --test")}, "javascript", "test script"),
    "pytest by its tests": ({"a/b/test_c.py": "def test_c():\n    pass\n"}, "python", "pytest"),
    "mocha": ({"package.json": "{}", "node_modules/.bin/mocha": ""}, "javascript", "mocha"),
    "jest": ({"package.json": "{}", "node_modules/.bin/jest": ""}, "typescript", "jest"),
    "vitest": ({"package.json": "{}", "node_modules/.bin/vitest": ""}, "typescript", "vitest"),
    "a script and its tool": (
        {"package.json": script("tap"), "node_modules/.bin/tap": ""},
        "typescript",
        "test script",
    ),
    "node --test": ({"a.test.js": ""}, "javascript", "node --test"),
    "Maven": ({"pom.xml": "", "src/A.java": ""}, "java", "Maven, offline"),
    "Maven's own index": ({"pom.xml": "", ".m2/a.jar": "", "t/ATest.java": JUNIT}, "java", "Maven, offline"),
    "JUnit": ({"pom.xml": "", "t/ATest.java": JUNIT}, "java", "JUnit, compiled by CaretBench"),
    "Gradle": ({"build.gradle.kts": ""}, "java", "Gradle, offline"),
    "a main class": ({"test/a/b/AllTests.java": "package a.b;\n"}, "java", "javac and a main class AllTests"),
    "a longer name than AllTests": ({"t/NotAllTests.java": "", "Makefile": "test:\n"}, "java", "make test"),
    "JUnit 4": ({"lib/junit-4.13.jar": "", "src/A.java": ""}, "java", "JUnit 4 in lib"),
    "CMake": ({"CMakeLists.txt": "include(CTest)\n"}, "cpp", "CMake and CTest"),
    "CMake without tests": ({"CMakeLists.txt": "project(a)\n", "Makefile": "test:\n\ttrue\n"}, "cpp", "make test"),
    "configure": ({"configure": "", "Makefile.in": ""}, "cpp", "configure and make check"),
    "make test": ({"Makefile": "all:\n\ntest: all\n\ttrue\n"}, "cpp", "make test"),
    "make check": ({"GNUmakefile": "check:\n\ttrue\n"}, "java", "make check"),
    "dotnet": ({"shop/shop.csproj": ""}, "csharp", "dotnet test"),
    "go": ({"go.mod": "", "a.go": "", "a_test.go": ""}, "go", "go test"),
    "cargo": ({"Cargo.toml": "", "src/lib.rs": "", "Makefile": "test:\n"}, "rust", "cargo test"),
    "nose2": ({"tests/test_a.py": "", "a.py": "", "tox.ini": "[testenv]\ncommands = nose2 -v\n"}, "python", "nose2"),
    "minitest": ({"test/a/b_test.rb": "", "lib/b.rb": ""}, "ruby", "minitest or test-unit"),
    "rspec": ({"spec/b_spec.rb": "", "lib/b.rb": ""}, "ruby", "rspec"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_files_tell(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_detection, "is_installed", lambda _tool: True)
    files, language, name = KINDS[kind]
    found, lacking = detect_command(snapshot(tmp_path, files), [language])
    assert found is not None
    assert (found.name, lacking) == (name, "")
    assert "{" not in found.command.replace("${", "")
    if kind == "a main class":
        assert found.command.endswith(" a.b.AllTests")
        assert found.prepare is not None
    if kind == "JUnit":
        assert found.bundle == "tools/junit"


def test_options_that_switch_tests_on_are_given_to_cmake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_detection, "is_installed", lambda _tool: True)
    lists = (
        'option(FMT_TEST "Tests." OFF)\noption(FMT_CUDA_TEST "Of another kind." OFF)\n'
        'cmake_dependent_option(PUGIXML_BUILD_TESTS\n  "Build" OFF)\noption(JSON_BuildTests "b" OFF)\n'
        'option(BUILD_TESTING "b" ON)\noption(LATEST "newest" OFF)\nenable_testing()\n'
    )
    found, _ = detect_command(snapshot(tmp_path, {"CMakeLists.txt": lists}), ["cpp"])
    assert found is not None
    assert found.prepare is not None
    wanted = "-DFMT_TEST=ON -DPUGIXML_BUILD_TESTS=ON -DJSON_BuildTests=ON -DBUILD_TESTING=ON > /dev/null"
    assert wanted in found.command
    assert wanted in found.prepare


def test_what_a_makefile_prepares_holds_where_no_header_changes(tmp_path: Path) -> None:
    [found] = project_checks(snapshot(tmp_path, {"Makefile": "test:\n\ttrue\n", "a.cpp": ""}), ["cpp"])
    assert found.check_for("a.cpp", "b/c.cc").prepare == ("make", "test")
    assert found.check_for("a.cpp", "a.hpp").prepare == ()


def test_what_to_do_is_said_where_tests_do_not_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_detection, "is_installed", lambda _tool: True)
    [told] = project_checks(snapshot(tmp_path / "a", {"pom.xml": ""}), ["java"])
    assert "--setup 'mvn " in told.with_hint("tests_fail: 1 of 2")
    [given] = project_checks(snapshot(tmp_path / "b", {"a.py": ""}), ["java"], from_user=CheckSettings(command="mvn"))
    assert given.with_hint("tests_fail: 1 of 2") == "tests_fail: 1 of 2"
    assert "--setup COMMAND" in given.with_hint("tests_hang: 120 s")


def test_every_row_of_the_table_is_told_by_some_files() -> None:
    assert {name for _, _, name in KINDS.values()} == {row.name for row in command_detection.known_commands()}


def test_a_tool_that_is_not_here_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_detection, "is_installed", lambda tool: tool != "mvn")
    project = snapshot(tmp_path, {"pom.xml": "", "A.java": ""})
    with pytest.raises(DataError, match=r"mvn .*install maven"):
        project_checks(project, ["java"])
    with pytest.raises(DataError, match=r"its root .*test command"):
        project_checks(project, ["python"])


def test_a_dotnet_without_msbuild_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_detection, "is_installed", lambda tool: tool != "MSBuild")
    with pytest.raises(DataError, match=r"MSBuild .*\.NET SDK .*DOTNET_ROOT"):
        project_checks(snapshot(tmp_path, {"a.sln": "", "A.cs": ""}), ["csharp"])


def test_the_users_word_goes_before_the_projects_and_that_before_what_files_tell(tmp_path: Path) -> None:
    project = snapshot(tmp_path, {"test_a.py": "", "a.py": "", "want.txt": "1\n"})
    own = (
        CheckSettings(
            name="day", command="python3 a.py", files=("a.py",), limit=3, output=OutputSettings(file="want.txt")
        ),
        CheckSettings(command="make -s && ./t"),
    )
    [given] = project_checks(project, ["python"], from_user=CheckSettings(command="python3 -m nose"), settings=own)
    assert (given.check.command, given.source) == (("python3", "-m", "nose"), "--test-command")
    day, rest = project_checks(project, ["python"], settings=own)
    assert (day.limit, day.applies_to("a.py"), day.applies_to("b/c.py")) == (3, True, False)
    assert day.check.output is not None
    assert day.check.output.text == "1\n"
    assert rest.check.command == ("/bin/sh", "-c", "make -s && ./t")
    assert rest.applies_to("b/c.py")
    [told] = project_checks(project, ["python"])
    assert told.check.command == ("python3", "-m", "unittest", "-f")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (CheckSettings(command=" "), "an empty test command"),
        (CheckSettings(command="a", output=OutputSettings(file="none.txt")), "expected output must be a text"),
    ],
)
def test_checks_that_cannot_be(settings: CheckSettings, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        project_checks(snapshot(tmp_path, {"a.py": ""}), ["python"], from_user=settings)


# --- caretbench.toml ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('colour = "red"\n', "colour"),
        ("exclude = 3\n", "exclude"),
        ('[[checks]]\ncommand = "a"\nlimit = 0\n', r"checks\.0\.limit|checks\[0\]\.limit|limit"),
        ('[[checks]]\nfiles = ["a"]\n', "command"),
        ('[[checks]]\ncommand = "a"\noutput = { file = "x", comparison = "close" }\n', "comparison"),
        ("name = \n", "line 1"),
    ],
)
def test_a_malformed_file_is_one_clear_line(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "caretbench.toml").write_text(text)
    with pytest.raises(DataError, match=said) as caught:
        read_settings(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'caretbench.toml'}: ")
    assert "\n" not in str(caught.value)


def test_what_the_file_says_is_kept(tmp_path: Path) -> None:
    assert read_settings(tmp_path).checks == ()
    (tmp_path / "caretbench.toml").write_text(
        'name = "p"\ndate = "2026-01-02"\nexclude = ["tools/*"]\n[[checks]]\ncommand = "make test"\n'
    )
    found = read_settings(tmp_path)
    assert (found.name, found.date, found.exclude) == ("p", "2026-01-02", ("tools/*",))
    assert found.checks == (CheckSettings(command="make test"),)
