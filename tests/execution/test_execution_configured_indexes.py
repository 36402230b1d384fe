"""Package indexes that tools are configured with on this machine."""

from pathlib import Path

import pytest

from caretbench.execution.sandbox.package_index.configured_indexes import (
    configured_index_policy,
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
