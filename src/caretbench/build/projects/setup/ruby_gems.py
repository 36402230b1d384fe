"""Gems that a Ruby project requires and Ruby lacks: Debian's, and stand-ins for those that only measure or debug."""

from __future__ import annotations

import re
from typing import Final

from caretbench.build.projects.setup.debian_packages import gems_command
from caretbench.execution.workspaces.snapshot_store import Snapshot

_REQUIRED: Final = re.compile(rb"^[ \t]*require[ \t(]*['\"]([\w/-]+)['\"]", re.MULTILINE)
_TEST_FILE: Final = re.compile(r"(?:tests?|spec)/.*\.rb|\.?simplecov|Rakefile")
_SOURCE_FILE: Final = re.compile(r"(?:lib|tests?|spec)/.*\.rb")
_FOLDER: Final = ".deps/ruby"
_CONSTANTS: Final = {
    "bundler/setup": "", "byebug": "", "codecov": "Codecov", "coveralls": "Coveralls", "debug": "",
    "minitest/focus": "", "minitest/reporters": "Minitest::Reporters", "pry": "", "pry-byebug": "",
    "simplecov": "SimpleCov", "simplecov-cobertura": "", "simplecov-console": "", "simplecov-lcov": "",
    "simplecov_json_formatter": "",
}  # fmt: skip
"""Gems without an effect on what tests find, and the constant that each defines."""
# It answers every message and every name with itself: SimpleCov.start, Minitest::Reporters::SpecReporter.new.
_STAND_IN: Final = (
    "Class.new { class << self; def method_missing(*) = self; def new(*) = self; def const_missing(*) = self; "
    "def respond_to_missing?(*) = true; end }"
)


def install_command(snapshot: Snapshot) -> str | None:
    """Return the command that puts missing gems into the project; None if Ruby has all, or nothing is known of them."""
    gems = gems_command(sorted(_required(snapshot, _SOURCE_FILE) - _CONSTANTS.keys()), _FOLDER)
    return " && ".join(part for part in (gems, _stand_ins(snapshot)) if part) or None


def _required(snapshot: Snapshot, files: re.Pattern[str]) -> set[str]:
    """Return the names under which some files require others, without those of the project."""
    texts = (snapshot.read(path) for path in sorted(snapshot.entries) if files.fullmatch(path))
    names = {name.decode() for text in texts for name in _REQUIRED.findall(text)}
    folders = ("lib", "test", "spec")
    return {name for name in names if not any(f"{top}/{name}.rb" in snapshot.entries for top in folders)}


def _stand_ins(snapshot: Snapshot) -> str | None:
    """Return the command that writes a file for each gem that only measures and is not installed; None if none is."""
    names = sorted(_required(snapshot, _TEST_FILE) & _CONSTANTS.keys())
    if not names:
        return None
    parts = [
        f"(ruby -e 'require \"{name}\"' 2>/dev/null || echo '{_text(name)}' > {_FOLDER}/{name}.rb)" for name in names
    ]
    return " && ".join((f"mkdir -p {_FOLDER}/bundler {_FOLDER}/minitest", *parts))


def _text(name: str) -> str:
    constant = _CONSTANTS[name]
    owner = constant.rpartition("::")[0]
    return (f"module {owner}; end; " if owner else "") + (f"{constant} = {_STAND_IN}" if constant else "# a stand-in")
