"""Hosts that may be reached, and their accepted addresses."""

from __future__ import annotations

import ssl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.build.package_index.index_policy import (
    IndexPolicy,
    address_refusal,
    index_policy,
    is_ip_address,
    proxy_environment,
    public_index_hosts,
)
from caretbench.build.package_index.index_proxy import HEADER_BYTES, NotClientHello, record_length, server_name
from caretbench.errors import DataError


def hello(name: str | None) -> bytes:
    """The first message of a real TLS client."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def test_the_data_file_names_hosts_once_on_the_usual_ports() -> None:
    hosts = public_index_hosts()
    assert len({host.name for host in hosts}) == len(hosts)
    assert {host.name for host in hosts if host.trusted} == {  # the defaults of pip, npm and Maven
        "pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "repo.maven.apache.org", "repo1.maven.org",
    }  # fmt: skip
    for host in hosts:
        assert host.about
        assert set(host.ports) <= {80, 443}
        assert not is_ip_address(host.name)


def test_names_are_matched_whole() -> None:
    policy = IndexPolicy()
    assert policy.find_host("PyPI.org.") is not None
    for name in ("pypi.org.evil.com", "evilpypi.org", "upload.pypi.org", "pypi.org..", "", "pypi.org\n"):
        assert policy.find_host(name) is None


def test_a_host_may_be_named_without_telling_tools_of_it() -> None:
    policy = index_policy({"PIP_INDEX_URL": "https://mirror.corp/simple"}, ["https://files.corp:8443"])
    host = policy.find_host("files.corp")
    assert host is not None
    assert (host.ports, host.trusted) == ((8443,), True)
    assert dict(policy.settings) == {"PIP_INDEX_URL": "https://mirror.corp/simple"}
    with pytest.raises(DataError, match=r"a host .*files\.corp"):
        index_policy({}, ["files.corp"])


def test_what_the_user_names_may_be_reached_and_its_keys_go_no_further() -> None:
    policy = index_policy(
        {
            "PIP_INDEX_URL": "https://bob:hunter2secret@mirror.corp:8443/simple",
            "PIP_EXTRA_INDEX_URL": "http://10.0.0.5/simple https://pypi.org/simple",
            "GOPROXY": "https://go.corp,direct",
        }
    )
    mirror, plain, public = (policy.find_host(name) for name in ("mirror.corp", "10.0.0.5", "pypi.org"))
    assert mirror is not None
    assert (mirror.ports, mirror.trusted) == ((8443,), True)
    assert plain is not None
    assert plain.ports == (80,)
    assert public is not None
    assert public.trusted
    assert "hunter2secret" not in policy.model_dump_json()
    told = proxy_environment(policy)
    assert told["PIP_INDEX_URL"] == "https://mirror.corp:8443/simple"
    assert told["GOPROXY"] == "https://go.corp,direct"
    assert told["HTTPS_PROXY"] == told["npm_config_proxy"] == "http://127.0.0.1:3128"


@pytest.mark.parametrize(
    "settings",
    [
        {"PIP_INDEX_URL": "file:///etc"},
        {"PIP_INDEX_URL": "https://bob:hunter2secret@/simple"},
        {"PIP_INDEX_URL": "https://bob:hunter2secret@host:port/"},
        {"LD_PRELOAD": "https://pypi.org"},
    ],
)
def test_what_names_no_index_is_refused_without_its_key(settings: dict[str, str]) -> None:
    with pytest.raises(DataError) as caught:
        index_policy(settings)
    assert "hunter2secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "public", "trusted"),
    [
        ("151.101.0.223", "", ""),
        ("2a04:4e42::223", "", ""),
        ("127.0.0.1", "loopback", ""),
        ("::1", "loopback", ""),
        ("::ffff:127.0.0.1", "loopback", ""),
        ("10.1.2.3", "not public", ""),
        ("100.64.0.1", "not public", ""),
        ("fd00:ec2::254", "not public", ""),
        ("2002:7f00:1::", "loopback", ""),
        ("64:ff9b::a00:1", "not public", ""),
        ("169.254.169.254", "link-local", "link-local"),
        ("::ffff:169.254.169.254", "link-local", "link-local"),
        ("64:ff9b::a9fe:a9fe", "link-local", "link-local"),
        ("fe80::1%eth0", "link-local", "link-local"),
        ("0.0.0.0", "no single host's", "no single host's"),  # noqa: S104
        ("::", "no single host's", "no single host's"),
        ("224.0.0.1", "no single host's", "no single host's"),
    ],
)
def test_addresses_are_judged_also_when_wrapped(address: str, public: str, trusted: str) -> None:
    assert address_refusal(address, trusted=False) == public
    assert address_refusal(address, trusted=True) == trusted


@pytest.mark.parametrize("name", ["127.0.0.1", "[::1]", "2130706433", "0x7f.1", "127.1", "10.0.0.1."])
def test_addresses_in_every_notation_are_known(name: str) -> None:
    assert is_ip_address(name)


def test_the_host_that_a_client_asks_for_is_read() -> None:
    for name in ("pypi.org", None):
        data = hello(name)
        length = record_length(data[:HEADER_BYTES])
        assert len(data) == HEADER_BYTES + length
        assert server_name(data[HEADER_BYTES:]) == name


HELLO = hello("pypi.org")[HEADER_BYTES:]


@settings(deadline=None)  # the machine may be busy
@given(st.binary(max_size=200), st.integers(0, 600), st.integers(0, 255))
def test_a_broken_first_message_is_one_error(junk: bytes, place: int, byte: int) -> None:
    broken = bytearray(HELLO)
    broken[place % len(broken)] = byte
    for data in (junk, bytes(broken), bytes(broken[:place])):
        try:
            server_name(data)
            record_length(data[:HEADER_BYTES])
        except NotClientHello:
            continue
