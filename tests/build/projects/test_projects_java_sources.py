"""Source folders of Java projects in layouts of Maven, Gradle, Ant and of nobody."""

from pathlib import Path

from caretbench.build.projects.setup.command_detection import detect_command
from caretbench.build.projects.setup.java_project import java_folders
from tests.support.project_files import snapshot

JUNIT = "import org.junit.Test;\n"


def java(package: str, *imports: str) -> str:
    return f"package {package};\n" + "".join(f"import {name};\n" for name in imports)


def test_folders_follow_from_packages_and_only_what_tests_need_is_compiled(tmp_path: Path) -> None:
    files = {
        "pom.xml": "<project/>",
        "core/src/main/java/a/b/Core.java": java("a.b", "a.util.Text"),
        "core/src/main/resources/a/b/words.txt": "",
        "util/src/main/java/a/util/Text.java": java("a.util"),
        "core/src/test/java/a/b/CoreTest.java": java("a.b", "org.junit.jupiter.api.Test"),
        "plugin/src/main/java/a/plugin/Mojo.java": java("a.plugin", "org.apache.maven.plugin.AbstractMojo", "a.b.Core"),
        "examples/src/test/java/a/e/ExampleTest.java": java("a.e", "org.junit.Test"),
        "core/src/test/resources/a/b/Sample.java": java("a.b", "org.junit.Test"),
    }
    found = java_folders(snapshot(tmp_path, files))
    assert found.tests == ("core/src/test/java",)
    assert found.code == ("core/src/main/java", "util/src/main/java"), "the plug-in, which no test needs, is left alone"
    assert found.resources == ("core/src/main/resources", "core/src/test/resources")


def test_an_old_layout_is_found_and_its_jars_and_resources_are(tmp_path: Path) -> None:
    files = {
        "build.xml": "<project/>",
        "Source/com/a/Reader.java": java("com.a"),
        "Tests/com/a/ReaderTest.java": java("com.a", "junit.framework.TestCase"),
        "Tests/com/a/sample.txt": "",
        "Samples/com/s/Main.java": java("com.s", "com.a.Reader"),
        "lib/hamcrest.jar": "",
        "lib/junit-3.8.1.jar": "",
        "lib/junit-toolbox.jar": "",
        "more/a.jar": "",
    }
    project = snapshot(tmp_path, files)
    found, lacking = detect_command(project, ["java"])
    assert found is not None, lacking
    assert found.command == "/caretbench/java/test --sources Source Tests --junit"
    assert found.environment == {"CLASSPATH": "lib/junit-toolbox.jar:more/*:.deps/*", "RESOURCES": "Tests"}


def test_static_imports_and_default_packages_lead_to_their_folders(tmp_path: Path) -> None:
    files = {
        "a/Plain.java": "class Plain {}",
        "t/PlainTest.java": "import static x.Help.max;\n" + JUNIT,
        "h/x/Help.java": java("x"),
        "odd/WrongPlace.java": java("not.here"),
    }
    found = java_folders(snapshot(tmp_path, files))
    assert (found.tests, found.code) == (("t",), ("a", "h"))


def test_a_project_without_junit_has_no_folders(tmp_path: Path) -> None:
    assert java_folders(snapshot(tmp_path, {"src/a/A.java": java("a")})).sources == ()
