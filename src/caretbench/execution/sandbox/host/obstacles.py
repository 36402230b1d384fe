"""Reasons why no sandbox, or no warm sandbox, can be built on this machine, each with its remedy."""

from __future__ import annotations

from caretbench.execution.sandbox.host.users import lacking

NO_BUBBLEWRAP = (
    "programs run only in a sandbox and bubblewrap is not here: `apt-get install bubblewrap` "
    "(`dnf install bubblewrap`), or `pip install 'caretbench[sandbox]'`"
)
NO_FILTER = "the system call numbers of this processor are not known, and a warm sandbox needs the filter"
NO_NESTING = "no namespaces can be made inside a sandbox here"
_COMPLAINTS = (
    "user namespace", "uid map", "Operation not permitted", "No space left", "_namespaces exceeded",
)  # fmt: skip
_ADVICE = (
    "this system forbids unprivileged user namespaces. Try `sysctl -w kernel.unprivileged_userns_clone=1` "
    "(Debian); `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` or an AppArmor profile for bwrap "
    "(Ubuntu 24.04); `sysctl -w user.max_user_namespaces=15000`; "
    "in Docker, `--security-opt seccomp=unconfined`"
)
_NESTING_ADVICE = (
    "a limit of the kernel or a rule of the system forbids them. Try `sysctl -w user.max_user_namespaces=15000`, or "
    "an AppArmor profile for bwrap that allows user namespaces to what it starts, too"
)
_TO_MAP = ("CAP_SYS_ADMIN", "CAP_DAC_OVERRIDE")
"""Capabilities without which root cannot write the maps of another user's namespace."""


def no_sandbox(said: str) -> str:
    """Return why no sandbox can be built, by what bubblewrap said."""
    forbidden = any(complaint in said for complaint in _COMPLAINTS)
    advice = f"; {_ADVICE}" if forbidden else ""
    return f"no sandbox can be built here ({said.strip()[:400]}){advice}"


def no_nesting(said: str) -> str:
    """Return why a program was not started in a warm sandbox, by what its first process there said."""
    if "were not built" not in said:
        return f"no program can be started in a warm sandbox ({said.strip()[:400]})"
    return f"{NO_NESTING} ({said.strip()[:400]}): {_NESTING_ADVICE}"


def no_maps(error: OSError) -> str:
    """Return why root could not map the users of a warm sandbox."""
    missing = lacking(*_TO_MAP)
    if not missing:
        return f"root may not map the users of a warm sandbox ({error}): a security rule of the system refuses it"
    docker = " ".join(f"--cap-add {name.removeprefix('CAP_')}" for name in missing)
    return (
        f"root cannot map the users of a warm sandbox without {' and '.join(missing)}; give it that (in Docker, "
        f"`{docker}`), or start CaretBench as an ordinary user"
    )
