"""Package indexes that tools are configured with on this machine."""

from functools import partial
from pathlib import Path

import pytest

from caretbench.build.package_index import configured_indexes
from caretbench.build.package_index.configured_indexes import (
    apt_indexes,
    configured_index_policy,
    maven_indexes,
    npm_indexes,
    pip_indexes,
    uv_indexes,
)
from caretbench.build.package_index.index_proxy import IndexProxy
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceRunner
from tests.support.project_files import open_folder, snapshot


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(configured_indexes, "_GLOBAL", ())
    (tmp_path / ".config/pip").mkdir(parents=True)
    (tmp_path / ".config/uv").mkdir()
    return tmp_path


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "XDG_CONFIG_DIRS": str(home / "none"), **more}


def test_pips_files_and_variables_name_its_indexes(home: Path) -> None:
    (home / ".config/pip/pip.conf").write_text(
        "[global]\nindex-url = https://bob:secret1234@pip.corp/simple\n"
        "find-links = /opt/wheels https://wheels.corp/all\n"
        "[install]\nextra-index-url =\n  file:///opt/more\n  http://10.0.0.5:8081/simple\n"
    )
    found = pip_indexes(environment(home))
    assert found.settings["PIP_EXTRA_INDEX_URL"] == "http://10.0.0.5:8081/simple"
    assert found.hosts == ("https://wheels.corp/all",)
    policy = configured_index_policy({}, (), environment(home))
    hosts = {name: policy.find_host(name) for name in ("pip.corp", "10.0.0.5", "wheels.corp", "pypi.org")}
    assert all(host is not None and host.trusted for host in hosts.values())
    assert dict(policy.settings) == {
        "PIP_INDEX_URL": "https://pip.corp/simple",
        "PIP_EXTRA_INDEX_URL": "http://10.0.0.5:8081/simple",
        "PIP_TRUSTED_HOST": "10.0.0.5:8081",
    }
    named = home / "pip.conf"
    named.write_text("[global]\nextra_index_url = https://later.corp/simple\nindex_url = https://later.corp/simple\n")
    assert pip_indexes(environment(home, PIP_CONFIG_FILE=str(named))).settings == {
        "PIP_INDEX_URL": "https://later.corp/simple",
        "PIP_EXTRA_INDEX_URL": "http://10.0.0.5:8081/simple",
    }
    replaced = environment(home, PIP_INDEX_URL="https://other.corp/simple")
    assert pip_indexes(replaced).settings["PIP_INDEX_URL"] == "https://other.corp/simple"
    assert pip_indexes(environment(home, PIP_CONFIG_FILE="/dev/null")) == ({}, (), {})


def test_apts_sources_that_cannot_be_read_are_ignored(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configured_indexes, "_APT", home)
    (home / "sources.list.d/kept.list").mkdir(parents=True)
    (home / "sources.list").write_text("# deb http://no.corp/\ndeb https://apt.corp/debian stable main\n")
    assert apt_indexes({}).hosts == ("https://apt.corp/debian",)


def test_a_given_setting_replaces_the_configured_one(home: Path) -> None:
    named = {"PIP_INDEX_URL": "https://given.corp/simple"}
    policy = configured_index_policy(named, (), environment(home, PIP_INDEX_URL="https://configured.corp/simple"))
    assert dict(policy.settings) == named
    assert policy.find_host("configured.corp") is None


def test_uvs_files_and_variables_name_its_indexes(home: Path) -> None:
    (home / ".config/uv/uv.toml").write_text(
        'extra-index-url = ["https://more.corp/simple"]\n'
        '[[index]]\nurl = "https://first.corp/simple"\n[[index]]\nurl = "https://uv.corp/simple"\ndefault = true\n'
    )
    found = uv_indexes(environment(home, UV_INDEX="https://variable.corp/simple")).settings
    assert found == {
        "UV_DEFAULT_INDEX": "https://uv.corp/simple",
        "UV_EXTRA_INDEX_URL": "https://first.corp/simple https://more.corp/simple",
        "UV_INDEX": "https://variable.corp/simple",
    }


@pytest.mark.parametrize("text", ["no section", "[global]\nindex-url = https://host:port/\n", "\x00"])
def test_malformed_configuration_is_left_to_the_tool(home: Path, text: str) -> None:
    (home / ".config/pip/pip.conf").write_text(text)
    (home / ".config/uv/uv.toml").write_text(text)
    assert dict(configured_index_policy({}, (), environment(home)).settings) == {}


SETTINGS = """<?xml version="1.0"?>
<settings xmlns="http://maven.apache.org/SETTINGS/1.2.0">
  <servers><server><id>corp</id><username>bob</username><password>secret1234</password></server></servers>
  <mirrors><mirror><id>corp</id><mirrorOf>central</mirrorOf>
    <url>https://bob:secret1234@maven.corp/repository</url></mirror></mirrors>
  <profiles>
    <profile><id>on</id><repositories><repository><id>more</id><url>http://10.0.0.5:8081/${env.PART}</url></repository>
    </repositories></profile>
    <profile><id>off</id><repositories><repository><id>old</id><url>https://old.corp/m2</url></repository>
    </repositories></profile>
  </profiles>
  <activeProfiles><activeProfile>on</activeProfile></activeProfiles>
</settings>
"""


def test_mavens_mirrors_and_active_repositories_are_trusted_without_their_keys(home: Path) -> None:
    (home / ".m2").mkdir()
    (home / ".m2/settings.xml").write_text(SETTINGS)
    policy = configured_index_policy({}, (), environment(home, PART="snapshots"))
    hosts = {name: policy.find_host(name) for name in ("maven.corp", "10.0.0.5")}
    assert all(host is not None and host.trusted for host in hosts.values())
    assert policy.find_host("old.corp") is None
    [text] = policy.files.values()
    assert "<mirrorOf>central</mirrorOf><url>https://maven.corp/repository</url>" in text
    assert "http://10.0.0.5:8081/snapshots" in text
    assert "secret1234" not in text


def test_a_mirror_of_mavens_repositories_is_named_by_the_option(home: Path) -> None:
    policy = configured_index_policy({"MAVEN_MIRROR_URL": "https://m2.corp/all"}, (), environment(home))
    [text] = policy.files.values()
    assert "<mirrorOf>*</mirrorOf><url>https://m2.corp/all</url>" in text
    host = policy.find_host("m2.corp")
    assert host is not None
    assert host.trusted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<settings",
        '<!DOCTYPE a [<!ENTITY b "c">]><settings/>',
        "<settings/>",
        "<settings><mirrors><mirror><id>b</id><url>http://0.0.0.0/</url><blocked>true</blocked></mirror></mirrors></settings>",
    ],
)
def test_settings_of_maven_without_repositories_change_nothing(text: str, home: Path) -> None:
    (home / ".m2").mkdir()
    (home / ".m2/settings.xml").write_text(text)
    assert maven_indexes(environment(home)) == ({}, (), {})


@pytest.mark.long
def test_a_setup_command_finds_mavens_settings(home: Path) -> None:
    policy = configured_index_policy({"MAVEN_MIRROR_URL": "https://m2.corp/all"}, (), environment(home))
    with open_folder() as folder:
        identity = snapshot(folder, {"a": ""}).id
        runner = WorkspaceRunner(store=SnapshotStore(folder / "store"), index=partial(IndexProxy, policy))
        try:
            command = ("/bin/sh", "-c", "cat /tmp/home/.m2/settings.xml; echo; echo $MAVEN_OPTS")
            result = runner.run(WorkspaceRequest(id="a", snapshot=identity, command=command, network="index"))
        finally:
            runner.close()
    assert result.status is Status.PASSED, result.stderr.text
    assert "https://m2.corp/all" in result.stdout.text
    assert "-Duser.home=/tmp/home" in result.stdout.text


def test_npms_files_and_variables_name_its_registries(home: Path) -> None:
    (home / ".npmrc").write_text(
        '; mine\nregistry = "https://user:secret1234@npm.corp:8443/all/"\n@team:registry=${TEAM_INDEX}\n'
        "//npm.corp/:_authToken=hunter2secret\n@other:registry=https://${UNSET}/x\n"
    )
    named = environment(home, TEAM_INDEX="http://10.0.0.7:4873/")
    assert npm_indexes(named).hosts == ("http://10.0.0.7:4873/",)
    policy = configured_index_policy({}, (), named)
    assert dict(policy.settings) == {"npm_config_registry": "https://npm.corp:8443/all/"}
    hosts = {name: policy.find_host(name) for name in ("npm.corp", "10.0.0.7", "registry.npmjs.org")}
    assert all(host is not None and host.trusted for host in hosts.values())
    assert "hunter2secret" not in policy.model_dump_json()
    replaced = environment(home, NPM_CONFIG_REGISTRY="https://variable.corp/")
    assert npm_indexes(replaced).settings == {"npm_config_registry": "https://variable.corp/"}
    (home / "rc").write_text("registry=https://named.corp\n")
    named = environment(home, npm_config_userconfig=str(home / "rc"))
    assert npm_indexes(named).settings == {"npm_config_registry": "https://named.corp"}


def test_the_projects_own_registry_takes_precedence(home: Path, tmp_path: Path) -> None:
    (home / ".npmrc").write_text("registry=https://npm.corp\n")
    project = tmp_path / "project"
    project.mkdir()
    (project / ".npmrc").write_text("registry=https://own.corp:4873/\nsave-exact=true\n")
    policy = configured_index_policy({}, (), environment(home), project)
    own = policy.find_host("own.corp")
    assert own is not None
    assert (own.ports, own.trusted) == ((4873,), True)
    assert dict(policy.settings) == {}  # npm reads the project's file itself
