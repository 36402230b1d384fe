"""Policy for set-up commands: the package indexes that they may reach, and bounds.

Public indexes are in ``index_hosts.toml``. The user's own are named by the settings that their tools understand
(``PIP_INDEX_URL``), or configured on this machine (``configured_indexes.py``). These, and the defaults of pip, npm and
Maven, may lie in a private network; the user's own may have ports other than 80 and 443. Keys that are part of such an
address are dropped: they would be in the hands of every package's set-up script.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from pydantic import Field

from caretbench.errors import DataError
from caretbench.execution.execution_types import FrozenModel
from caretbench.execution.sandbox.invocation import PROXY_PORT
from caretbench.files import read_packaged_toml
from caretbench.redaction import redact

INDEX_SETTINGS = (
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL",
    "npm_config_registry", "GOPROXY", "MAVEN_MIRROR_URL",
)  # fmt: skip
"""Settings that name package indexes; several are separated by spaces, ``,`` or ``|``."""

_DEFAULT_PORTS = {"https": 443, "http": 80}
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_CERTIFICATE_SETTINGS = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
_HOME = "/tmp/home"  # noqa: S108  of set-up commands, inside the sandbox
# On networks with IPv6 only, a resolver wraps private IPv4 addresses into this range.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class IndexHost(FrozenModel):
    """Host that may be reached.

    ``trusted``: the user or a tool's configuration names it, and it may be private. ``mirror_setting``: one of
    :data:`INDEX_SETTINGS`, which names a mirror of a public index.
    """

    name: str = Field(pattern=r"^[a-z0-9]([a-z0-9.:-]*[a-z0-9])?$", max_length=253)
    ports: tuple[int, ...] = Field(default=(443,), min_length=1)
    about: str = ""
    trusted: bool = False
    mirror_setting: str = ""


@cache
def public_index_hosts() -> tuple[IndexHost, ...]:
    """Return the public package indexes from the data file."""
    hosts = read_packaged_toml("caretbench.build.package_index", "index_hosts.toml")["hosts"]
    return tuple(IndexHost.model_validate(entry) for entry in hosts)


class IndexPolicy(FrozenModel):
    """Hosts that may be reached, limits, and extra settings of the tools inside. Times are in seconds."""

    hosts: tuple[IndexHost, ...] = Field(default_factory=public_index_hosts)
    settings: Mapping[str, str] = Field(default_factory=dict)  # environment of the tools, without keys
    files: Mapping[str, str] = Field(default_factory=dict)  # configuration of the tools, by path inside
    concurrent_connections: int = 64  # at a time
    max_connections: int = 5_000  # in all, for one command
    max_head_bytes: int = 16 << 10  # of a request's head
    head_timeout_s: float = 60.0  # in which the head must have come; a busy machine delays tools for long
    connect_timeout_s: float = 30.0  # to find and reach a host
    idle_timeout_s: float = 60.0  # of silence, after which a connection ends
    max_connection_s: float = 900.0  # that one may last
    max_received_bytes: int = 4 << 30  # that one command receives
    max_sent_bytes: int = 16 << 20  # that it sends

    def find_host(self, name: str) -> IndexHost | None:
        """Return the entry of a host, with the ports of all its entries; None if it may not be reached."""
        wanted = name.lower().removesuffix(".")
        entries = [host for host in self.hosts if host.name == wanted]
        if not entries:
            return None
        ports = tuple(sorted({port for host in entries for port in host.ports}))
        mirror = next((host.mirror_setting for host in entries if host.mirror_setting), "")
        trusted = any(host.trusted for host in entries)
        return entries[0].model_copy(update={"ports": ports, "trusted": trusted, "mirror_setting": mirror})


def index_policy(settings: Mapping[str, str] | None = None, hosts: Iterable[str] = ()) -> IndexPolicy:
    """Return the policy for the public indexes and those in ``settings``, which are passed to the tools inside.

    Args:
        settings: Any of :data:`INDEX_SETTINGS`; nothing is taken from this process's environment.
        hosts: Addresses of more hosts that may be reached: where an index keeps its files, say.

    Raises:
        DataError: an unknown setting, or an address that is none.
    """
    index_hosts: dict[str, IndexHost] = {}
    kept_settings: dict[str, str] = {}
    without_tls: list[str] = []
    for setting, value in (settings or {}).items():
        if setting not in INDEX_SETTINGS:
            raise DataError(f"{setting} names no package index; known: {', '.join(INDEX_SETTINGS)}")
        plain: list[str] = []
        for url in value.replace(",", " ").replace("|", " ").split():
            # Words of Go, not addresses: `direct` would reach version control hosts, which the proxy refuses.
            if setting == "GOPROXY" and url in ("direct", "off"):
                plain.append(url)
                continue
            parts = _address(setting, url)
            _add(index_hosts, parts, f"named by {setting}")
            if setting.startswith("PIP_") and parts.scheme == "http":
                without_tls.append(parts.netloc.rpartition("@")[2])
            plain.append(parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl())
        # Addresses go inside without user and password: programs of a project can read their environment.
        kept_settings[setting] = ("," if setting == "GOPROXY" else " ").join(plain)
    if without_tls:  # pip asks for this, in addition to the address
        kept_settings["PIP_TRUSTED_HOST"] = " ".join(without_tls)
    for url in hosts:
        _add(index_hosts, _address("a host", url), "named by the user")
    return IndexPolicy(hosts=(*index_hosts.values(), *public_index_hosts()), settings=kept_settings)


def _add(hosts: dict[str, IndexHost], parts: SplitResult, about: str) -> None:
    name = str(parts.hostname)
    port = parts.port or _DEFAULT_PORTS[parts.scheme]
    ports = {*(hosts[name].ports if name in hosts else ()), port}
    hosts[name] = IndexHost(name=name, ports=tuple(sorted(ports)), about=about, trusted=True)


def index_address(name: str, port: int, scheme: str = "") -> str:
    """Return the address of a host as the option ``--index`` takes it; ``scheme`` is https by default."""
    scheme = scheme or "https"
    return f"{scheme}://{name}" + ("" if _DEFAULT_PORTS.get(scheme) == port else f":{port}")


def _address(setting: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        named = parts.scheme in _DEFAULT_PORTS and IndexHost(name=parts.hostname or "", ports=(parts.port or 1,))
    except ValueError:
        named = False
    if not named:
        raise DataError(f"{setting} is no address of an index: {redact(url)!r}")
    return parts


def proxy_environment(policy: IndexPolicy) -> dict[str, str]:
    """Return variables that point pip, uv, npm, Maven, Go, curl and apt to the proxy and its certificates."""
    proxy = f"http://127.0.0.1:{PROXY_PORT}"
    java = " ".join(f"-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={PROXY_PORT}" for scheme in ("http", "https"))
    if policy.files:  # Maven reads its settings below this folder, and does not ask HOME for it
        java += f" -Duser.home={_HOME}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "npm_config_proxy", "npm_config_https_proxy")
    certificates = _CERTIFICATE_SETTINGS if Path(_CERTIFICATES).exists() else ()
    return {
        **dict.fromkeys(names, proxy),
        "MAVEN_OPTS": java,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "npm_config_update_notifier": "false",
        **dict.fromkeys(certificates, _CERTIFICATES),
        **policy.settings,
    }


def _contained_addresses(address: Address) -> list[Address]:
    """Return an address and the addresses that are embedded in it."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    wrapped = [address.sixtofour] if address.sixtofour is not None else []
    if address in _NAT64:
        wrapped.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [address, *wrapped]


def address_refusal(text: str, *, trusted: bool) -> str:
    """Return the reason why a host's address is refused; empty if it is accepted.

    Link-local addresses, where clouds keep their metadata, are refused even to a trusted host.
    """
    for address in _contained_addresses(ipaddress.ip_address(text.partition("%")[0])):
        # 169.254.169.254 is the metadata service of clouds, which hands out keys of the machine.
        if address.is_link_local:
            return "link-local"
        if address.is_multicast or address.is_unspecified:
            return "no single host's"
        # A public name may resolve to a private address: the project would reach servers of this network (DNS
        # rebinding).
        if not trusted and not address.is_global:
            return "loopback" if address.is_loopback else "not public"
    return ""


def is_ip_address(name: str) -> bool:
    """Return whether a host is an IP address, in any notation that resolvers accept, rather than a name."""
    try:
        ipaddress.ip_address(name.strip("[]").partition("%")[0])
    except ValueError:
        last = name.removesuffix(".").rpartition(".")[2].lower()
        # Resolvers take `127.1` and `0x7f000001` for addresses, `ipaddress` does not.
        return last.isdigit() or last.startswith("0x")
    return True
