"""Bundles: their specifications, their locks, and building small ones without a network."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.execution.bundles import bundle_building, bundle_model, bundle_store, ecosystem, pip
from caretbench.execution.bundles.bundle_model import BundleError, BundleSpec, LinkRule, load_spec
from caretbench.execution.bundles.bundle_store import debian_versions, sandbox_python
from caretbench.execution.bundles.ecosystem import apt_line, maven_project_file, package_json, split_package_version
from caretbench.execution.bundles.pip import locked_packages, normalised_name

SPECS = bundle_model.bundle_specs()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "bundles"


@pytest.fixture
def specs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "specs"
    folder.mkdir()
    monkeypatch.setenv("CARETBENCH_BUNDLE_SPECS", str(folder))
    return folder


def write_spec(folder: Path, ecosystem: str, language: str, packages: list[str], **more: object) -> BundleSpec:
    table: dict[str, object] = {"name": f"tests/{language}", "language": language, "ecosystem": ecosystem}
    table |= {"packages": packages, **more}
    path = folder / f"{language}.toml"
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items()))
    return load_spec(path)


# --- the specifications of the house ------------------------------------------------------------------------


def test_devbench_and_the_compiler_have_their_bundles() -> None:
    wanted = {f"devbench/{name}" for name in ("python", "javascript", "typescript", "java", "cpp")}
    assert wanted | {"tools/typescript", "tools/typescript-native"} <= set(SPECS)


@pytest.mark.parametrize("spec", [spec for spec in SPECS.values() if spec.ecosystem == "pip"], ids=lambda s: s.name)
def test_pip_lock_pins_every_package_with_hashes(spec: BundleSpec) -> None:
    assert spec.lock_path is not None
    text = spec.lock_path.read_text()
    locked = locked_packages(text)
    assert {normalised_name(package) for package in spec.packages} <= set(locked)
    blocks = text.replace("\\\n", " ").splitlines()
    assert all("--hash=sha256:" in block for block in blocks if "==" in block)
    assert "://" not in text


@pytest.mark.parametrize("spec", [spec for spec in SPECS.values() if spec.ecosystem == "npm"], ids=lambda s: s.name)
def test_npm_lock_was_made_for_the_packages_and_names_no_registry(spec: BundleSpec) -> None:
    assert spec.lock_path is not None
    places = json.loads(spec.lock_path.read_text())["packages"]
    root = places.pop("")
    assert root["dependencies"] == package_json(spec)["dependencies"]
    assert "type" not in root
    assert all("integrity" in entry and "resolved" not in entry for entry in places.values())
    for package, wanted in root["dependencies"].items():
        version = places[f"node_modules/{package}"]["version"]
        assert wanted == "*" or version.startswith(wanted.split(".")[0])


def test_typescript_is_the_version_that_includes_type_packages_by_itself() -> None:
    for name in ("tools/typescript", "devbench/typescript"):
        assert {"typescript@5.9.3", "@types/node@20"} <= set(SPECS[name].packages)


def test_unknown_bundle_lists_the_known_ones() -> None:
    with pytest.raises(BundleError, match="devbench/python"):
        bundle_store.installed_bundle("devbench/cobol")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ecosystem": "cargo"}, "ecosystem"),
        ({"packages": []}, "packages"),
        ({"name": "../outside"}, "name"),
        ({"lock": None}, "lock file"),
        ({"typo": 1}, "typo"),
    ],
)
def test_wrong_specification_names_file_and_field(tmp_path: Path, change: dict[str, object], said: str) -> None:
    table = {"name": "tests/python", "language": "python", "ecosystem": "pip", "packages": ["a"], "lock": "a.lock"}
    path = tmp_path / "wrong.toml"
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in {**table, **change}.items() if value is not None]
    path.write_text("".join(lines))
    with pytest.raises(BundleError, match=said) as caught:
        load_spec(path)
    assert str(path) in str(caught.value)


def test_a_users_own_specification_is_found(specs_folder: Path) -> None:
    write_spec(specs_folder, "debian", "cpp", ["libc6"])
    assert bundle_model.bundle_spec("tests/cpp").packages == ("libc6",)


@pytest.mark.parametrize(
    ("package", "parts"),
    [("ws", ("ws", "*")), ("chai@4", ("chai", "4")), ("@types/ws", ("@types/ws", "*")),
     ("@types/node@20", ("@types/node", "20"))],
)  # fmt: skip
def test_npm_packages_are_split_at_the_version(package: str, parts: tuple[str, str]) -> None:
    assert split_package_version(package) == parts


def test_requirement_names_are_compared_as_indexes_do() -> None:
    assert [normalised_name(name) for name in ("moto[all]", "slack_sdk", "A.b-C>=2")] == ["moto", "slack-sdk", "a-b-c"]


# --- building without a network -----------------------------------------------------------------------------


def make_wheel(folder: Path, name: str, version: str, text: str) -> str:
    """Write a wheel with one module; gives its SHA-256."""
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": text,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b'=').decode()},"
        f"{len(content)}\n"
        for path, content in files.items()
    )
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(path, content)
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


@pytest.fixture
def wheel_spec(tmp_path: Path, specs_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> BundleSpec:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    digest = make_wheel(wheels, "tiny_caret", "1.0", "ANSWER = 42\n")
    for tool in ("UV", "PIP"):
        monkeypatch.setenv(f"{tool}_NO_INDEX", "1")
        monkeypatch.setenv(f"{tool}_FIND_LINKS", str(wheels))
    (specs_folder / "tiny.lock").write_text(f"tiny-caret==1.0 --hash=sha256:{digest}\n")
    return write_spec(specs_folder, "pip", "python", ["tiny_caret"], lock="tiny.lock", verify=["tiny_caret"])


def test_pip_bundle_is_built_once_read_only_and_importable(wheel_spec: BundleSpec) -> None:
    assert bundle_store.installed_bundle(wheel_spec.name) is None
    said: list[str] = []
    bundle = bundle_building.build_bundle(wheel_spec, progress=said.append)
    assert bundle_store.installed_bundle(wheel_spec.name) == bundle
    assert bundle.read_only == {"/bundle": str(bundle.root)}
    assert bundle.environment == {"PYTHONPATH": "/bundle/site-packages"}
    module = bundle.root / "site-packages" / "tiny_caret.py"
    assert module.stat().st_mode & 0o777 == 0o444
    done = subprocess.run(
        [sandbox_python(), "-c", "import tiny_caret; print(tiny_caret.ANSWER)"],
        env={"PYTHONPATH": str(module.parent)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "42\n"
    before = (bundle.root / bundle_store.MANIFEST).stat().st_mtime_ns
    assert bundle_building.build_bundle(wheel_spec, progress=said.append) == bundle
    assert (bundle.root / bundle_store.MANIFEST).stat().st_mtime_ns == before
    assert said[-1] == "tests/python: already built"


def test_wrong_hash_is_refused_and_leaves_nothing(wheel_spec: BundleSpec, cache: Path) -> None:
    lock = wheel_spec.lock_path
    assert lock is not None
    lock.write_text(f"tiny-caret==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(BundleError, match="tests/python"):
        bundle_building.build_bundle(wheel_spec)
    assert bundle_store.installed_bundle(wheel_spec.name) is None
    assert [path.name for path in (cache / wheel_spec.name).iterdir()] == [".lock"]


def test_lock_without_a_package_says_how_to_renew_it(wheel_spec: BundleSpec) -> None:
    wanted = wheel_spec.model_copy(update={"packages": ("tiny_caret", "absent")})
    with pytest.raises(BundleError, match=r"absent; .*lock tests/python"):
        bundle_building.build_bundle(wanted)


def test_without_uv_and_pip_the_line_that_brings_one_is_said(
    wheel_spec: BundleSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pip, "find_uv", lambda: None)
    monkeypatch.setattr(pip, "_has_pip", lambda _python: False)
    monkeypatch.setattr(pip.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(BundleError, match=r"install .*python3-pip"):
        bundle_building.build_bundle(wheel_spec)


def test_interpreter_that_is_too_old_is_named(wheel_spec: BundleSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip, "python_version", lambda _python: (3, 9))
    with pytest.raises(BundleError, match=r"3\.11 or later.*python3"):
        bundle_building.build_bundle(wheel_spec)


def test_module_that_is_not_there_fails_the_build(wheel_spec: BundleSpec) -> None:
    with pytest.raises(BundleError, match="no module other"):
        bundle_building.build_bundle(wheel_spec.model_copy(update={"verify": ("other",)}))
    assert bundle_store.installed_bundle(wheel_spec.name) is None


def test_changed_lock_is_another_bundle(wheel_spec: BundleSpec) -> None:
    first = bundle_building.build_bundle(wheel_spec)
    lock = wheel_spec.lock_path
    assert lock is not None
    lock.write_text(lock.read_text() + "# changed\n")
    assert bundle_store.installed_bundle(wheel_spec.name) is None
    second = bundle_building.build_bundle(wheel_spec)
    assert second.root != first.root
    assert second.lock_hash != first.lock_hash


def test_killed_build_leaves_no_bundle_and_is_cleaned_by_the_next(wheel_spec: BundleSpec, cache: Path) -> None:
    script = (
        "import os, signal\n"
        "from caretbench.execution.bundles import bundle_building, bundle_model\n"
        "bundle_building.write_atomically = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"bundle_building.build_bundle(bundle_model.bundle_spec({wheel_spec.name!r}))\n"
    )
    killed = subprocess.run([sys.executable, "-c", script], check=False)
    assert killed.returncode == -9
    assert bundle_store.installed_bundle(wheel_spec.name) is None
    assert any(path.name.startswith(".unfinished-") for path in (cache / wheel_spec.name).iterdir())
    bundle = bundle_building.build_bundle(wheel_spec)
    assert {path.name for path in (cache / wheel_spec.name).iterdir()} == {".lock", bundle.root.name}


@pytest.fixture
def npm_spec(tmp_path: Path, specs_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BundleSpec]:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    package = tmp_path / "tiny-caret"
    package.mkdir()
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm-cache"))
    monkeypatch.setenv("npm_config_offline", "true")
    marker = tmp_path / "script-ran"
    (package / "package.json").write_text(
        json.dumps({"name": "tiny-caret", "version": "1.2.0", "scripts": {"postinstall": f"touch {marker}"}})
    )
    (package / "index.js").write_text("module.exports = 42\n")
    pack = ["npm", "pack", "--silent", "--pack-destination", str(tmp_path), str(package)]
    subprocess.run(pack, check=True, capture_output=True, env={**os.environ, "npm_config_ignore_scripts": "true"})
    archive = tmp_path / "tiny-caret-1.2.0.tgz"
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    places = {
        "": {"name": "bundle", "dependencies": {"tiny-caret": f"file:{archive}"}},
        "node_modules/tiny-caret": {
            "version": "1.2.0", "resolved": f"file:{archive}", "integrity": f"sha512-{digest}",
            "hasInstallScript": True,
        },
    }  # fmt: skip
    lock = {"name": "bundle", "lockfileVersion": 3, "requires": True, "packages": places}
    (specs_folder / "tiny.lock.json").write_text(json.dumps(lock))
    packages = [f"tiny-caret@file:{archive}"]
    yield write_spec(specs_folder, "npm", "javascript", packages, lock="tiny.lock.json", verify=["tiny-caret"])
    assert not marker.exists()


def test_npm_bundle_is_built_without_install_scripts(npm_spec: BundleSpec) -> None:
    bundle = bundle_building.build_bundle(npm_spec)
    assert bundle.environment == {"NODE_PATH": "/bundle/node_modules"}
    assert bundle.read_only["/node_modules"] == str(bundle.root / "node_modules")
    assert (bundle.root / "node_modules" / "tiny-caret" / "index.js").exists()
    assert "type" not in json.loads((bundle.root / "package.json").read_text())
    manifest = json.loads((bundle.root / bundle_store.MANIFEST).read_text())
    assert manifest["packages"] == {"tiny-caret": "1.2.0"}


def test_npm_lock_for_other_packages_is_refused(npm_spec: BundleSpec) -> None:
    with pytest.raises(BundleError, match="other packages"):
        bundle_building.build_bundle(npm_spec.model_copy(update={"packages": (*npm_spec.packages, "more")}))


def test_tool_that_is_missing_is_named_with_the_line_that_brings_it(
    npm_spec: BundleSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BundleError, match=r"install .*nodejs npm"):
        bundle_building.build_bundle(npm_spec, system_packages="never")


def make_jar(path: Path, *classes: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in classes:
            archive.writestr(f"{name.replace('.', '/')}.class", b"")


def test_maven_bundle_resolves_pinned_artefacts_offline(
    tmp_path: Path, specs_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a stand-in for mvn: it notes its arguments and copies a jar to where it was told
    make_jar(tmp_path / "tiny-1.jar", "tiny.Caret")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "mvn").write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\ncp pom.xml {tmp_path}/\n'
        'for argument; do case "$argument" in -DoutputDirectory=*) out="${argument#*=}";; esac; done\n'
        f'mkdir -p "$out" && cp {tmp_path}/tiny-1.jar "$out"\n'
    )
    (tools / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    spec = write_spec(
        specs_folder, "maven", "java", ["org.tiny:tiny:1"], verify=["tiny.Caret"], offline_repository=str(tmp_path)
    )
    bundle = bundle_building.build_bundle(spec)
    assert bundle.class_path == ("/bundle/jars/tiny-1.jar",)
    arguments = (tmp_path / "arguments").read_text()
    assert f"-o -Dmaven.repo.local={tmp_path}" in arguments
    assert "<artifactId>tiny</artifactId><version>1</version>" in (tmp_path / "pom.xml").read_text()


def test_maven_coordinates_have_three_parts(specs_folder: Path) -> None:
    with pytest.raises(BundleError, match="group:artefact:version"):
        maven_project_file(write_spec(specs_folder, "maven", "java", ["junit"]))


# --- Debian packages ----------------------------------------------------------------------------------------

NO_DPKG = pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="not a Debian system")


@NO_DPKG
def test_debian_versions_leave_out_what_is_not_installed() -> None:
    versions = debian_versions(("libc6", "no-such-package-here"))
    assert set(versions) == {"libc6"}


@NO_DPKG
def test_missing_debian_packages_give_one_line_or_a_partial_bundle(specs_folder: Path, cache: Path) -> None:
    packages = ["libc6", "no-such-package-here"]
    spec = write_spec(specs_folder, "debian", "cpp", packages, include_folders=["/usr/inc*"])
    with pytest.raises(BundleError) as caught:
        bundle_building.build_bundle(spec)
    assert apt_line(["no-such-package-here"]) in str(caught.value)
    bundle = bundle_building.build_bundle(spec, system_packages="never")
    assert bundle.missing == ("no-such-package-here",)
    assert bundle.compile_flags == ("-I/usr/include",)
    assert bundle.read_only == {}
    row = next(row for row in bundle_building.bundle_status() if row.name == spec.name)
    assert row.state == "partly"
    assert row.fix.startswith(apt_line(["no-such-package-here"]))
    assert row.fix.endswith("caretbench deps build tests/cpp")


@NO_DPKG
def test_a_bundle_of_nothing_is_not_built(specs_folder: Path, cache: Path) -> None:
    spec = write_spec(specs_folder, "debian", "java", ["no-such-package-here"])
    with pytest.raises(BundleError, match="no-such-package-here"):
        bundle_building.build_bundle(spec, system_packages="never")
    assert bundle_store.installed_bundle(spec.name) is None


@NO_DPKG
def test_partial_bundle_is_built_again_once_the_package_is_there(
    specs_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = write_spec(specs_folder, "debian", "cpp", ["base-files", "libc6"])
    with monkeypatch.context() as patch:
        for module in (bundle_store, ecosystem):
            patch.setattr(module, "absent_packages", lambda names: tuple(name for name in names if name == "libc6"))
        assert bundle_building.build_bundle(spec, system_packages="never").missing == ("libc6",)
    assert bundle_building.build_bundle(spec).missing == ()
    assert next(row.state for row in bundle_building.bundle_status() if row.name == spec.name) == "present"


class FakeApt:
    """Stand-ins for apt and dpkg on the PATH: a release with ``known`` packages, whose lists come by an update."""

    def __init__(self, folder: Path, known: str) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "release").write_text(known)
        for name in ("lists", "installed", "calls"):
            (folder / name).write_text("")
        query = "for n in $(cat installed); do printf '%s\\t1.0\\tinstalled\\n' $n; done"
        policy = "for n in $(cat lists); do printf '%s:\\n  Installed: (none)\\n  Candidate: 1.0\\n' $n; done"
        act = (
            'echo "$@" >> calls; [ "$1" = update ] && cp release lists; [ "$1" = install ] || exit 0; shift\n'
            'for n in "$@"; do case $n in -*|broken) ;; *) grep -qw "$n" lists || exit 100; echo $n >> installed;; '
            "esac; done\n"
            'for n in "$@"; do [ $n != broken ] || { echo "E: $n has unmet dependencies" >&2; exit 100; }; done'
        )
        for name, body in (("dpkg-query", query), ("apt-cache", policy), ("apt-get", act), ("sudo", 'exec "$@"')):
            path = folder / name
            path.write_text(f"#!/bin/sh\n{'cd ' + str(folder) if name != 'sudo' else ''}\n{body}\n")
            path.chmod(0o755)

    def installed(self) -> list[str]:
        return (self.folder / "installed").read_text().split()


@pytest.fixture
def debian_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApt]:
    fake = FakeApt(tmp_path / "tools", "needed extra")
    monkeypatch.setenv("PATH", f"{fake.folder}:{os.environ['PATH']}")
    debian_versions.cache_clear()
    yield fake
    debian_versions.cache_clear()


def test_optional_packages_of_the_release_are_installed_too(
    specs_folder: Path, cache: Path, debian_tools: FakeApt
) -> None:
    spec = write_spec(specs_folder, "debian", "cpp", ["needed"], optional=["extra", "gone"])
    lines: list[str] = []
    bundle_building.build_bundle(spec, system_packages="install", progress=lines.append)
    assert debian_tools.installed() == ["needed", "extra"]
    assert "gone: optional, and not in this release" in lines
    manifest = next(cache.glob("tests/cpp/*/bundle.json")).read_text()
    assert json.loads(manifest)["packages"] == {"needed": "1.0", "extra": "1.0"}


def test_an_optional_package_that_cannot_be_installed_is_named_and_stops_nothing(
    specs_folder: Path, cache: Path, debian_tools: FakeApt
) -> None:
    (debian_tools.folder / "release").write_text("needed broken extra")
    spec = write_spec(specs_folder, "debian", "cpp", ["needed"], optional=["broken", "extra"])
    lines: list[str] = []
    assert bundle_building.build_bundle(spec, system_packages="install", progress=lines.append).missing == ()
    assert "broken: optional, and cannot be installed: E: broken has unmet dependencies" in lines
    assert {"needed", "extra"} == set(debian_tools.installed())


def test_a_bundle_is_built_again_once_an_optional_package_is_there(
    specs_folder: Path, cache: Path, debian_tools: FakeApt
) -> None:
    (debian_tools.folder / "installed").write_text("needed\n")
    spec = write_spec(specs_folder, "debian", "cpp", ["needed"], optional=["extra"])
    first = bundle_building.build_bundle(spec)
    assert bundle_building.build_bundle(spec, system_packages="install").lock_hash != first.lock_hash
    assert debian_tools.installed() == ["needed", "extra"]
    lines: list[str] = []
    bundle_building.build_bundle(spec, system_packages="install", progress=lines.append)
    assert lines == ["tests/cpp: already built"]


def test_optional_system_packages_are_no_part_of_a_pip_bundle(specs_folder: Path, debian_tools: FakeApt) -> None:
    (specs_folder / "python.lock").write_text("")
    plain, more = (
        write_spec(specs_folder, "pip", "python", ["numpy"], lock="python.lock", **optional)
        for optional in ({}, {"optional": ["extra"]})
    )
    assert bundle_store.bundle_key(plain) == bundle_store.bundle_key(more)
    assert bundle_building.ECOSYSTEMS["pip"].missing_optional(more) == ("extra",)
    debian = [write_spec(specs_folder, "debian", "cpp", ["needed"], optional=names) for names in ([], ["extra"])]
    assert bundle_store.bundle_key(debian[0]) != bundle_store.bundle_key(debian[1])


def test_a_package_that_the_release_lacks_is_an_error_with_its_name(
    specs_folder: Path, cache: Path, debian_tools: FakeApt
) -> None:
    spec = write_spec(specs_folder, "debian", "cpp", ["nowhere"], optional=["extra"])
    with pytest.raises(BundleError, match="apt-get failed"):
        bundle_building.build_bundle(spec, system_packages="install")


def test_programs_are_linked_by_the_headers_they_include(tmp_path: Path) -> None:
    rules = (
        LinkRule(include="openssl/", libraries=("ssl", "crypto")),
        LinkRule(include="sqlite3.h", libraries=("sqlite3",)),
    )
    bundle = bundle_model.Bundle(name="a/cpp", language="cpp", lock_hash="0", root=tmp_path, link_rules=rules)
    source = '#include <vector>\n  # include <openssl/evp.h>\n#include "openssl/err.h"\n// sqlite3.h\n'
    assert bundle.link_flags(source) == ("-lssl", "-lcrypto")
    assert bundle.link_flags("int main() {}") == ()


def test_status_of_what_is_not_built_says_how_to_build_it(cache: Path) -> None:
    rows = {row.name: row for row in bundle_building.bundle_status()}
    assert set(rows) == set(SPECS)
    row = rows["tools/typescript"]
    assert (row.state, row.fix) == ("absent", "caretbench deps build tools/typescript")


def test_folder_of_bundles_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path))
    assert bundle_store.bundles_folder() == tmp_path / "bundles"
    monkeypatch.delenv("CARETBENCH_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    tmp_path.chmod(0o755)
    assert bundle_store.bundles_folder() == tmp_path / ".cache" / "caretbench" / "bundles"
    tmp_path.chmod(0o700)
    closed = Path("/var/cache/caretbench/bundles") if os.geteuid() == 0 else tmp_path / ".cache/caretbench/bundles"
    assert bundle_store.bundles_folder() == closed
