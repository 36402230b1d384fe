"""Package indexes that tools are configured with on this machine."""

from pathlib import Path

import pytest

from caretbench.execution.sandbox.package_index.configured_indexes import (
    configured_index_policy,
    npm_indexes,
    pip_indexes,
    uv_indexes,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
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
    replaced = environment(home, PIP_INDEX_URL="https://other.corp/simple")
    assert pip_indexes(replaced).settings["PIP_INDEX_URL"] == "https://other.corp/simple"
    assert pip_indexes(environment(home, PIP_CONFIG_FILE="/dev/null")) == ({}, ())


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
