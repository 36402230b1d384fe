"""Reasons why no sandbox or no warm sandbox can be built on this machine, each with its remedy."""

from __future__ import annotations

from caretbench.execution.sandbox.host.program_users import missing_capabilities

NO_BUBBLEWRAP = (
    "programs run only in a sandbox and bubblewrap is not here: `apt-get install bubblewrap` "
    "(`dnf install bubblewrap`), or `pip install 'caretbench[sandbox]'`"
)
NO_FILTER = "the system call numbers of this processor are not known, and a warm sandbox needs the filter"
NO_NESTING = "no namespaces can be made inside a sandbox here"
_COMPLAINTS = ("user namespace", "uid map", "Operation not permitted", "No space left", "_namespaces exceeded")
_ADVICE = (
    "this system forbids unprivileged user namespaces. Try `sysctl -w kernel.unprivileged_userns_clone=1` "
    "(Debian); `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` or an AppArmor profile for bwrap "
    "(Ubuntu 24.04); `sysctl -w user.max_user_namespaces=15000`; "
    "in Docker, `--security-opt seccomp=unconfined`"
)
_EXHAUSTED = "_namespaces exceeded"
_EXHAUSTED_ADVICE = (
    "all namespaces that the kernel allows are in use: wait until other sandboxes end, or raise the limit, "
    "`sysctl -w user.max_user_namespaces=15000`"
)
_NESTING_ADVICE = (
    "a limit of the kernel or a rule of the system forbids them. Try `sysctl -w user.max_user_namespaces=15000`, or "
    "an AppArmor profile for bwrap that allows user namespaces to what it starts, too"
)
_TO_MAP = ("CAP_SYS_ADMIN", "CAP_DAC_OVERRIDE")
"""Capabilities without which root cannot write the maps of another user's namespace."""


def sandbox_failure(message: str) -> str:
    """Return the reason why no sandbox can be built, from bubblewrap's message."""
    forbidden = any(complaint in message for complaint in _COMPLAINTS)
    advice = f"; {_ADVICE}" if forbidden else ""
    return f"no sandbox can be built here ({message.strip()[:400]}){advice}"


def exhausted_namespaces(message: str) -> str:
    """Return why a program was not started, with a remedy if the machine ran out of namespaces after the probe."""
    return f"{message}; {_EXHAUSTED_ADVICE}" if _EXHAUSTED in message else message


def nested_sandbox_failure(message: str) -> str:
    """Return the reason why a program was not started in a warm sandbox, from its first process's message."""
    if "were not built" not in message:
        return f"no program can be started in a warm sandbox ({message.strip()[:400]})"
    return f"{NO_NESTING} ({message.strip()[:400]}): {_NESTING_ADVICE}"


def user_map_failure(error: OSError) -> str:
    """Return the reason why root could not map the users of a warm sandbox."""
    missing = missing_capabilities(*_TO_MAP)
    if not missing:
        return f"root may not map the users of a warm sandbox ({error}): a security rule of the system refuses it"
    docker = " ".join(f"--cap-add {name.removeprefix('CAP_')}" for name in missing)
    return (
        f"root cannot map the users of a warm sandbox without {' and '.join(missing)}; give it that (in Docker, "
        f"`{docker}`), or start CaretBench as an ordinary user"
    )
