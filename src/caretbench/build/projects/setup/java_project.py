"""Source folders of a Java project, by package statements, and the jars that its build files name."""

from __future__ import annotations

import fnmatch
import re
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from caretbench.build.projects.setup.debian_packages import available_packages, jars_command, java_archives
from caretbench.build.projects.setup.project_tables import child_text, parsed_xml
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.files import read_packaged_toml
from caretbench.projects.settings import project_rules

JARS_FOLDER: Final = ".deps"
"""Folder of the project into which a setup installs jars."""
_PACKAGE: Final = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
_IMPORT: Final = re.compile(r"^\s*import\s+(?:static\s+)?([\w.]+?)(\.\*)?\s*;", re.MULTILINE)
_JUNIT: Final = re.compile(r"^\s*import\s+(?:static\s+)?(?:org\.junit|junit\.framework)\b", re.MULTILINE)
_NOT_COMPILED: Final = frozenset({"package-info.java", "module-info.java"})


class JavaSource(NamedTuple):
    """Java file: the source folder that its package statement implies, its package, and its imports."""

    folder: str
    package: str
    imports: tuple[str, ...]
    uses_junit: bool


class JavaFolders(NamedTuple):
    """Source folders of a project: of its JUnit tests, of the code that these need; resources of both, and jars."""

    tests: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    jars: tuple[str, ...] = ()
    """Folders with jars, as entries of a class path."""

    @property
    def sources(self) -> tuple[str, ...]:
        """All source folders, those of the tests last."""
        return (*self.code, *self.tests)


def source_folder(path: str, package: str) -> str | None:
    """Return the folder below which a file lies as its package says; None if it does not lie so."""
    folder = PurePosixPath(path).parent
    parts = package.split(".") if package else []
    if list(folder.parts[len(folder.parts) - len(parts) :]) != parts:
        return None
    return str(PurePosixPath(*folder.parts[: len(folder.parts) - len(parts)]))


def java_sources(snapshot: Snapshot) -> Mapping[str, JavaSource]:
    """Return the Java files of a project by path, without those in folders that are not mined (such as examples)."""
    sources = {}
    passed_over = {*project_rules().files.folders, "resources"}
    for path, entry in snapshot.entries.items():
        name = PurePosixPath(path)
        if entry.kind != "file" or name.suffix != ".java" or name.name in _NOT_COMPILED:
            continue
        text = snapshot.read(path).decode("utf-8", "replace")
        stated = _PACKAGE.search(text)
        package = stated[1] if stated else ""
        folder = source_folder(path, package)
        # A package may have such a name (org.docs), a folder above its root may not.
        if folder is None or passed_over & set(PurePosixPath(folder).parts):
            continue
        imports = tuple(match[1] for match in _IMPORT.finditer(text))
        sources[path] = JavaSource(folder, package, imports, _JUNIT.search(text) is not None)
    return sources


def java_folders(snapshot: Snapshot) -> JavaFolders:
    """Return the source folders of a project's JUnit tests and of what they need, directly or not."""
    sources = java_sources(snapshot)
    tests = {source.folder for source in sources.values() if source.uses_junit}
    if not tests:
        return JavaFolders()
    by_folder: dict[str, list[JavaSource]] = defaultdict(list)
    providers: dict[str, set[str]] = defaultdict(set)
    for path, source in sources.items():
        by_folder[source.folder].append(source)
        providers[source.package].add(source.folder)
        providers[f"{source.package}.{PurePosixPath(path).stem}".lstrip(".")].add(source.folder)
    needed, waiting = set(tests), sorted(tests)
    while waiting:
        for folder in _needed(by_folder[waiting.pop()], providers) - needed:
            needed.add(folder)
            waiting.append(folder)
    folders = JavaFolders(tuple(sorted(tests)), tuple(sorted(needed - tests)))
    return folders._replace(resources=_resources(snapshot, folders.sources), jars=_jars(snapshot, folders.sources))


def _needed(sources: Iterable[JavaSource], providers: Mapping[str, set[str]]) -> set[str]:
    """Return the folders with classes of the same packages, and of what is imported: a class, or all of a package."""
    names: set[str] = set()
    for source in sources:
        names.add(source.package)
        for name in source.imports:  # the last words of a name may be members of a class
            parts = name.split(".")
            names.update(".".join(parts[:end]) for end in range(max(1, len(parts) - 2), len(parts) + 1))
    return {folder for name in names for folder in providers.get(name, ())}


def _resources(snapshot: Snapshot, folders: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of resources: ``resources`` next to a source folder, or that folder if it has other files."""
    resource_folders = []
    for folder in folders:
        resources = str(PurePosixPath(folder).parent / "resources")
        if any(path.startswith(f"{resources}/") for path in snapshot.entries):
            resource_folders.append(resources)
        elif any(
            entry.kind == "file" and not path.endswith(".java") and PurePosixPath(path).is_relative_to(folder)
            for path, entry in snapshot.entries.items()
        ):
            resource_folders.append(folder)
    return tuple(dict.fromkeys(resource_folders))


def _jars(snapshot: Snapshot, sources: Iterable[str]) -> tuple[str, ...]:
    """Return the folders with jars outside source folders; what a setup installs is the last.

    Of a folder with a JUnit of its own the other jars are named: an old one would come before that of the bundle.
    """
    listed: dict[str, list[str]] = {JARS_FOLDER: []}
    for path in sorted(path for path in snapshot.entries if path.endswith(".jar")):
        listed.setdefault(str(PurePosixPath(path).parent), []).append(path)
    jars = []
    for folder in sorted(listed, key=lambda folder: (folder == JARS_FOLDER, folder)):
        if any(PurePosixPath(folder).is_relative_to(source) for source in sources):
            continue
        others = [path for path in listed[folder] if not _OF_BUNDLE.fullmatch(PurePosixPath(path).name)]
        has_own = folder != JARS_FOLDER and len(others) < len(listed[folder])
        jars += others if has_own else [f"{folder}/*"]
    return tuple(jars)


_OF_BUNDLE: Final = re.compile(r"(?:junit(?:-dep)?|hamcrest(?:-(?:all|core|library))?)[-_]?[\d.]*\.jar")
"""Jar of JUnit 3 or 4, or of what it needs; the bundle has newer ones, which run the same tests."""
REPOSITORY: Final = Path("/usr/share/maven-repo")
_MAVEN: Final = "mvn -q -B dependency:copy-dependencies -DoutputDirectory={folder} -DexcludeGroupIds={groups}"
# A set-up has to create a file; without one it counts as failed.
_NOTHING: Final = "mkdir -p {folder} && echo 'Maven fetched nothing' > {folder}/maven.txt"
_IN_BUNDLE: Final = (
    "junit", "org.junit.jupiter", "org.junit.platform", "org.junit.vintage", "org.junit", "org.hamcrest",
    "org.opentest4j", "org.apiguardian",
)  # fmt: skip
"""Groups whose artefacts come from the bundle ``tools/junit``."""
_BUNDLE_PACKAGES: Final = ("junit.", "org.junit", "org.hamcrest", "org.opentest4j", "org.apiguardian")
"""Beginnings of the packages in that bundle."""
_BUILD_FILES: Final = re.compile(r"(?:.*/)?(?:pom\.xml|[^/]+\.gradle(?:\.kts)?|ivy\.xml)")
_PROPERTY: Final = re.compile(r"\$\{([^}]+)\}")
_GRADLE: Final = re.compile(
    r"\b(?:api|implementation|compile|compileOnly|runtime\w*|test\w*)\b[\s(]*"
    r"(?:['\"]([\w.-]+):([\w.-]+)(?::[^'\"]*)?['\"]|group\s*[:=]\s*['\"]([\w.-]+)['\"]\s*,\s*name\s*[:=]\s*['\"]([\w.-]+)['\"])"
)
_MAX_BYTES: Final = 4 << 20
_NAMED: Final = 6


class Artefact(NamedTuple):
    """Artefact of a Maven repository."""

    group: str
    name: str

    def __str__(self) -> str:
        return f"{self.group}:{self.name}"


class JavaPackages(NamedTuple):
    """Artefacts that a project's build files name: their jars on this machine, and those that are not installed."""

    artefacts: tuple[Artefact, ...] = ()
    jars: tuple[Path, ...] = ()
    absent: tuple[Artefact, ...] = ()


def java_packages(snapshot: Snapshot) -> JavaPackages:
    """Return the artefacts that the modules with tests name, without JUnit and without the project's own."""
    named: dict[Artefact, None] = {}
    project_artefacts: set[Artefact] = set()
    tested = java_folders(snapshot).sources
    for path in sorted(snapshot.entries):
        if not _BUILD_FILES.fullmatch(path) or snapshot.entries[path].kind != "file":
            continue
        text = snapshot.read(path)[:_MAX_BYTES].decode("utf-8", "replace")
        folder = path.rpartition("/")[0]
        artefact, dependencies = _maven_module(text) if path.endswith("pom.xml") else (None, [*_others(text)])
        if artefact is not None:
            project_artefacts.add(artefact)
        if not folder or any(source.startswith(f"{folder}/") for source in tested):
            named.update(dict.fromkeys(dependencies))
    artefacts = tuple(
        artefact for artefact in named if artefact not in project_artefacts and artefact.group not in _IN_BUNDLE
    )
    jars: dict[Path, None] = {}
    absent = tuple(artefact for artefact in artefacts if not _collect(artefact, jars, set()))
    return JavaPackages(artefacts, tuple(jars), absent)


def _maven_module(text: str) -> tuple[Artefact | None, list[Artefact]]:
    """Return a POM's own artefact and the dependencies that compiling and testing need; none if it is malformed."""
    root = parsed_xml(text)
    if root is None:
        return None, []
    parent_group = child_text(root, "parent/groupId")
    group, name = child_text(root, "groupId") or parent_group, child_text(root, "artifactId")
    values = {element.tag: (element.text or "").strip() for element in root.find("properties") or ()}
    values |= {f"{prefix}groupId": group for prefix in ("project.", "pom.", "")}
    artefacts = (
        Artefact(*(_filled(child_text(entry, key), values) for key in ("groupId", "artifactId")))
        for entry in root.iterfind("dependencies/dependency")
        if child_text(entry, "scope") not in ("system", "import")
    )
    return Artefact(group, name), [artefact for artefact in artefacts if artefact.group and artefact.name]


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _PROPERTY.sub(lambda match: values.get(match[1], match[0]), text)


def _others(text: str) -> Iterator[Artefact]:
    """Yield the artefacts that a build file of Gradle or Ivy names."""
    for match in _GRADLE.finditer(text):
        yield Artefact(match[1] or match[3], match[2] or match[4])
    for line in re.findall(r"<dependency\s[^>]*>", text):
        group, name = (re.search(rf'\b{key}\s*=\s*"([^"]+)"', line) for key in ("org", "name"))
        if group and name:
            yield Artefact(group[1], name[1])


def _collect(artefact: Artefact, jars: dict[Path, None], seen: set[Artefact]) -> bool:
    """Add the jars of an artefact and of what it needs to run; return whether it is installed."""
    # POMs may depend on each other in a circle.
    if artefact in seen or artefact.group in _IN_BUNDLE:
        return True
    seen.add(artefact)
    jar = _installed(artefact)
    if jar is None:
        return False
    if jar.suffix == ".jar":
        jars[jar.resolve()] = None
    pom = jar.with_suffix(".pom")
    root = parsed_xml(pom.read_text("utf-8", "replace")) if pom.is_file() else None
    if root is None:
        return True
    moved = root.find("distributionManagement/relocation")
    if moved is not None:
        parts = (child_text(moved, "groupId") or artefact.group, child_text(moved, "artifactId") or artefact.name)
        return _collect(Artefact(*parts), jars, seen)
    for entry in root.iterfind("dependencies/dependency"):
        if child_text(entry, "scope") in ("", "compile", "runtime") and child_text(entry, "optional") != "true":
            _collect(Artefact(child_text(entry, "groupId"), child_text(entry, "artifactId")), jars, seen)
    return True


def _installed(artefact: Artefact) -> Path | None:
    """Return the newest jar of an artefact in Debian's repository, else its POM; None if it is not installed."""
    folder = REPOSITORY.joinpath(*artefact.group.split("."), artefact.name)
    jars = [
        path
        for path in folder.glob(f"*/{artefact.name}-*.jar")
        if path.stem == f"{artefact.name}-{path.parent.name}" and zipfile.is_zipfile(path)
    ]
    files = jars or list(folder.glob(f"*/{artefact.name}-*.pom"))
    return max(files, key=_version, default=None)


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", path.parent.name))  # `debian` is the oldest


def install_command(snapshot: Snapshot) -> str | None:
    """Return the command that puts a project's artefacts into its folder of jars; None if its files name none.

    Debian's jars are copied if all are there; else Maven fetches them. If it cannot, Debian's are used, installed or
    fetched as apt knows them. If there are none, the tests show whether they need one.
    """
    packages = java_packages(snapshot)
    if not packages.artefacts:
        return None
    copied = " ".join(map(str, packages.jars))
    apt_names = available_packages() if packages.absent else ()
    names = (debian_package(artefact, apt_names) for artefact in packages.absent)
    archives = java_archives(tuple(filter(None, names)))
    parts = (
        f"mkdir -p {JARS_FOLDER} && cp -L {copied} {JARS_FOLDER}" if copied else "",
        jars_command(archives, JARS_FOLDER) if archives else "",
    )
    debian = " && ".join(filter(None, parts))
    maven = _MAVEN.format(folder=JARS_FOLDER, groups=",".join(_IN_BUNDLE))
    if not packages.absent or "pom.xml" not in snapshot.entries or shutil.which("mvn") is None:
        return debian or None
    return f"{maven} || ( {debian or _NOTHING.format(folder=JARS_FOLDER)} )"


def missing_message(snapshot: Snapshot, missing: Sequence[str]) -> str:
    """Return advice on missing Java packages: the artefacts they may belong to, and where these come from.

    ``missing`` are names of packages, such as ``org.mockito``. Empty if the build files name no such artefact.
    """
    build = java_packages(snapshot)
    of_bundle = [package for package in missing if package.startswith(_BUNDLE_PACKAGES)]
    likely = {package: likely_artefact(package, build.artefacts) for package in missing if package not in of_bundle}
    named = tuple(dict.fromkeys(artefact for artefact in likely.values() if artefact is not None))
    unknown = [package for package, artefact in likely.items() if artefact is None]
    lines = []
    if of_bundle:
        lines.append(f"`caretbench deps build tools/junit --install-system` brings {', '.join(of_bundle[:_NAMED])}")
    if named:
        lines.append(f"its build files name {', '.join(map(str, named[:_NAMED]))}")
    if unknown:
        lines.append(f"no artefact of its build files is known to contain {', '.join(unknown[:_NAMED])}")
    # All that are absent: a compiler's message stops before it has named all.
    packages = {artefact: debian_package(artefact, available_packages()) for artefact in build.absent if named}
    offered = [package for package in packages.values() if package]
    if offered:
        lines.append(f"Debian has them: `apt-get install {' '.join(dict.fromkeys(offered))}`, then --setup auto")
    without = [str(artefact) for artefact in named if artefact in packages and not packages[artefact]]
    if without:
        lines.append(
            f"Debian has no package for {', '.join(without[:_NAMED])}: "
            "--index MAVEN_MIRROR_URL=https://ADDRESS names a Maven repository that has it"
        )
    return "; ".join(lines)


def likely_artefact(package: str, artefacts: Sequence[Artefact]) -> Artefact | None:
    """Return the artefact whose group and name share most words with a package; None if none shares its first two."""
    words = package.split(".")
    best = max(artefacts, key=partial(_shared, words), default=None)
    return best if best is not None and _shared(words, best) >= min(2, len(words)) else None


def _shared(words: Sequence[str], artefact: Artefact) -> float:
    group = artefact.group.split(".")
    same = next((n for n, pair in enumerate(zip(words, group, strict=False)) if pair[0] != pair[1]), None)
    prefix = min(len(words), len(group)) if same is None else same
    named = {word for word in re.split(r"[.\-_]", artefact.name) if word}
    return prefix + len(named & set(words[prefix:])) + 0.1 * len(named & set(words))


def debian_package(artefact: Artefact, available: Collection[str]) -> str | None:
    """Return the Debian package of an artefact by the table, else by its name; None if there is none."""
    table: Mapping[str, str] = read_packaged_toml("caretbench.build.projects.setup", "debian_java.toml")["packages"]
    listed = (package for pattern, package in table.items() if fnmatch.fnmatchcase(str(artefact), pattern))
    joined = artefact.name.replace("-", "")
    shorter = artefact.name.rpartition("-")[0]
    of_group = (f"lib{shorter}-java", shorter) if shorter in artefact.group.split(".") else ()
    names = (*listed, f"lib{artefact.name}-java", artefact.name, f"lib{joined}-java", *of_group)
    return next((name for name in names if name in available), None)
