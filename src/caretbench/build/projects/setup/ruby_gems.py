"""Stand-ins for gems of a Ruby project's tests that only measure, report or debug, where they are not installed."""

from __future__ import annotations

import re
from typing import Final

from caretbench.execution.workspaces.snapshot_store import Snapshot

_REQUIRED: Final = re.compile(rb"^[ \t]*require[ \t(]*['\"]([\w/-]+)['\"]", re.MULTILINE)
_TEST_FILE: Final = re.compile(r"(?:tests?|spec)/.*\.rb|\.?simplecov|Rakefile")
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


def stand_ins_command(snapshot: Snapshot) -> str | None:
    """Return the command that writes a file for each such gem that is required and not installed; None if none is."""
    texts = (snapshot.read(path) for path in sorted(snapshot.entries) if _TEST_FILE.fullmatch(path))
    names = sorted({name.decode() for text in texts for name in _REQUIRED.findall(text)} & _CONSTANTS.keys())
    if not names:
        return None
    folder = ".deps/ruby"
    parts = [
        f"(ruby -e 'require \"{name}\"' 2>/dev/null || echo '{_text(name)}' > {folder}/{name}.rb)" for name in names
    ]
    return " && ".join((f"mkdir -p {folder}/bundler {folder}/minitest", *parts))


def _text(name: str) -> str:
    constant = _CONSTANTS[name]
    owner = constant.rpartition("::")[0]
    return (f"module {owner}; end; " if owner else "") + (f"{constant} = {_STAND_IN}" if constant else "# a stand-in")
