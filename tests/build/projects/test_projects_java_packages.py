"""Artefacts that Java projects name, and what is offered where they are not installed."""

import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.build.projects.project_check import check_project
from caretbench.build.projects.setup import java_project
from caretbench.build.projects.setup.debian_packages import DebianArchive
from caretbench.build.projects.setup.java_project import Artefact, debian_package, likely_artefact
from caretbench.build.projects.setup.project_setup import setup_command, with_setup_hint
from caretbench.execution.execution_types import CapturedOutput, Status
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.files import sha256_file
from tests.build.projects.test_projects_project_check import Engine
from tests.support.fakes import ISOLATION
from tests.support.project_files import snapshot

TEST = "src/test/java/a/ATest.java"
JUNIT = "package a;\nimport org.junit.Test;\n"


def dependency(group: str, name: str, scope: str = "test") -> str:
    parts = f"<groupId>{group}</groupId><artifactId>{name}</artifactId><scope>{scope}</scope>"
    return f"<dependency>{parts}</dependency>"


def pom(*dependencies: str, group: str = "a.b", name: str = "shop") -> str:
    own = f"<groupId>{group}</groupId><artifactId>{name}</artifactId>"
    properties = "<properties><h2.group>com.h2database</h2.group></properties>"
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<project xmlns="http://maven.apache.org/POM/4.0.0">{own}{properties}'
        f"<dependencies>{''.join(dependencies)}</dependencies></project>"
    )


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty repository in Debian's form, and an apt that knows a few packages."""
    monkeypatch.setattr(java_project, "REPOSITORY", tmp_path / "debian/maven-repo")
    known = frozenset({"libmockito-java", "libh2-java", "libgoogle-gson-java"})
    monkeypatch.setattr(java_project, "available_packages", lambda: known)
    monkeypatch.setattr(java_project, "java_archives", lambda _packages: ())
    monkeypatch.setattr(java_project.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    return tmp_path / "debian/maven-repo"


def install(repository: Path, group: str, name: str, *needs: str) -> Path:
    folder = repository.joinpath(*group.split("."), name, "debian")
    folder.mkdir(parents=True)
    jar = folder / f"{name}-debian.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("a", "")
    (folder / f"{name}-debian.pom").write_text(pom(*needs, group=group, name=name))
    return jar


def test_the_artefacts_of_build_files_are_found_without_junit_and_the_projects_own(
    tmp_path: Path, repository: Path
) -> None:
    files = {
        "pom.xml": pom(
            dependency("org.mockito", "mockito-core"), dependency("${h2.group}", "h2"), dependency("junit", "junit"),
            dependency("${project.groupId}", "shop-core", "compile"),
        ),
        "core/pom.xml": pom(dependency("x.y", "never"), name="shop-core"),
        "more/build.gradle": "testImplementation 'g.h:i:1.0'\ntestImplementation(group: 'k', name: 'l')\n",
        "more/src/test/java/a/BTest.java": JUNIT,
        TEST: JUNIT,
    }  # fmt: skip
    found = java_project.java_packages(snapshot(tmp_path, files))
    named = ["org.mockito:mockito-core", "com.h2database:h2", "g.h:i", "k:l"]
    assert sorted(map(str, found.artefacts)) == sorted(named), "no test needs the module core"
    assert found.absent == found.artefacts


def test_setup_copies_debians_jars_with_what_they_need(tmp_path: Path, repository: Path) -> None:
    mockito = install(repository, "org.mockito", "mockito-core", dependency("net.bytebuddy", "byte-buddy", "compile"))
    buddy = install(repository, "net.bytebuddy", "byte-buddy", dependency("no.such", "tool"))
    files = {"pom.xml": pom(dependency("org.mockito", "mockito-core")), TEST: JUNIT}
    command = setup_command(snapshot(tmp_path / "a", files), ["java"])
    assert command == f"mkdir -p .deps && cp -L {mockito} {buddy} .deps"
    files["pom.xml"] = pom(dependency("org.mockito", "mockito-core"), dependency("com.h2database", "h2"))
    command = setup_command(snapshot(tmp_path / "b", files), ["java"])
    assert command is not None
    assert command.startswith("mvn -q -B dependency:copy-dependencies -DoutputDirectory=.deps ")
    assert command.endswith(f"|| ( mkdir -p .deps && cp -L {mockito} {buddy} .deps )")
    assert setup_command(snapshot(tmp_path / "c", {"pom.xml": pom(), TEST: JUNIT}), ["java"]) is None
    files["pom.xml"] = pom(dependency("com.h2database", "h2"))
    command = setup_command(snapshot(tmp_path / "e", files), ["java"])
    assert command is not None
    assert "|| ( mkdir -p .deps && " in command, "without any jar the tests show whether they need one"
    files["pom.xml"] = '<!DOCTYPE a [<!ENTITY b "c">]>' + pom(dependency("com.h2database", "h2"))
    assert setup_command(snapshot(tmp_path / "d", files), ["java"]) is None


@pytest.mark.skipif(not Path("/usr/bin/dpkg-deb").exists(), reason="packages of Debian are unpacked by dpkg-deb")
def test_jars_of_packages_that_apt_knows_are_fetched_by_their_hash(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository.parent / "usr/share/java").mkdir(parents=True)
    (repository.parent / "DEBIAN").mkdir()
    (repository.parent / "DEBIAN/control").write_text(
        "Package: libh2-java\nVersion: 2\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: a\n"
    )
    (repository.parent / "usr/share/java/h2.jar").write_text("jar")
    archive = tmp_path / "h2_1%2b2.deb"
    subprocess.run(["/usr/bin/dpkg-deb", "--build", repository.parent, archive], check=True)
    row = DebianArchive(f"file://{tmp_path}/h2_1%252b2.deb", sha256_file(archive))
    monkeypatch.setattr(java_project, "java_archives", lambda packages: (row,) if packages == ("libh2-java",) else ())
    files = {"pom.xml": pom(dependency("com.h2database", "h2")), TEST: JUNIT}
    command = setup_command(snapshot(tmp_path / "a", files), ["java"])
    assert command is not None
    debian = command.partition("|| ( ")[2].removesuffix(" )")
    subprocess.run(["/bin/sh", "-c", debian], cwd=tmp_path, check=True)
    assert [path.name for path in (tmp_path / ".deps").iterdir()] == ["h2.jar"]
    changed = debian.replace(row.sha256, "0" * 64)
    assert subprocess.run(["/bin/sh", "-c", changed], cwd=tmp_path, check=False, capture_output=True).returncode


def test_an_artefact_that_has_moved_is_followed(tmp_path: Path, repository: Path) -> None:
    core = install(repository, "org.mockito", "mockito-core")
    moved = repository / "org/mockito/mockito-all/debian/mockito-all-debian.pom"
    moved.parent.mkdir(parents=True)
    place = "<groupId>org.mockito</groupId><artifactId>mockito-core</artifactId>"
    moved.write_text(
        f"<project><artifactId>mockito-all</artifactId><distributionManagement><relocation>{place}</relocation>"
        "</distributionManagement></project>"
    )
    files = {"pom.xml": pom(dependency("org.mockito", "mockito-all")), TEST: JUNIT}
    assert setup_command(snapshot(tmp_path / "a", files), ["java"]) == f"mkdir -p .deps && cp -L {core} .deps"


def test_missing_packages_are_named_with_their_artefacts_and_debians_packages(tmp_path: Path, repository: Path) -> None:
    errors = "\n".join(
        f"src/test/java/a/ATest.java:{n}: error: package {name} does not exist\nimport {name}.X;\n^"
        for n, name in enumerate(["org.mockito", "org.mockito.stubbing", "x.rare", "org.mockito"])
    )
    quoted = f"{errors}\nsrc/main/java/a/B.java:9: error: cannot find symbol\n  catch (java.net.UnknownHostException e)"
    compiled = WorkspaceResult(
        id="", status=Status.UNRESOLVED_IMPORT, exit_code=1, missing_module="org.mockito", isolation=ISOLATION,
        stderr=CapturedOutput(text=quoted),
    )  # fmt: skip
    request = WorkspaceRequest(id="p", snapshot="s", command=("/caretbench/java/test", "--junit"))
    fault = check_project(Engine(lambda _request: compiled), request).fault
    assert fault.startswith("missing_dependency: org.mockito.stubbing, x.rare, org.mockito are not installed")
    files = {"pom.xml": pom(dependency("org.mockito", "mockito-core"), dependency("x.rare", "rare")), TEST: JUNIT}
    told = with_setup_hint({"": fault}, snapshot(tmp_path, files), ["java"], (), None)
    assert "org.mockito:mockito-core, x.rare:rare" in told
    assert "`apt-get install libmockito-java`" in told
    assert "x.rare:rare: --index MAVEN_MIRROR_URL=https://ADDRESS" in told
    assert "network" not in told


def test_all_that_debian_has_is_offered_at_once_and_junit_by_its_bundle(tmp_path: Path, repository: Path) -> None:
    files = {"pom.xml": pom(dependency("org.mockito", "mockito-core"), dependency("com.h2database", "h2")), TEST: JUNIT}
    fault = "missing_dependency: org.junit.jupiter.params, org.mockito are not installed; build a bundle with it"
    told = with_setup_hint({"": fault}, snapshot(tmp_path, files), ["java"], (), "mvn -q x || ( cp y .deps )")
    assert "libmockito-java libh2-java`" in told, "the compiler did not name h2"
    assert "`caretbench deps build tools/junit --install-system` brings org.junit.jupiter.params" in told
    assert "known to contain" not in told
    assert "the setup that ran" not in told


def test_packages_of_debian_follow_from_names_and_a_table() -> None:
    known = {"libmockito-java", "ant", "libyaml-snake-java", "libxmlunit-java", "libjson-java", "libjsonpath-java"}
    rows = [
        ("org.mockito:mockito-core", "libmockito-java"), ("org.apache.ant:ant", "ant"),
        ("org.yaml:snakeyaml", "libyaml-snake-java"), ("org.xmlunit:xmlunit-core", "libxmlunit-java"), ("a:b", None),
        ("com.jayway.jsonpath:json-path", "libjsonpath-java"), ("org.rare:json-tool", None),
    ]  # fmt: skip
    for artefact, package in rows:
        assert debian_package(Artefact(*artefact.split(":")), known) == package


def test_a_package_belongs_to_the_artefact_that_shares_its_words() -> None:
    artefacts = [Artefact("org.apache.commons", "commons-lang3"), Artefact("commons-io", "commons-io"),
                 Artefact("com.h2database", "h2"), Artefact("org.apache.ant", "ant")]  # fmt: skip
    assert likely_artefact("org.apache.commons.lang3.text", artefacts) == artefacts[0]
    assert likely_artefact("org.apache.tools.ant", artefacts) == artefacts[3]
    assert likely_artefact("net.other", artefacts) is None
