"""Scoping rules of a language that no query can express: ``traits.toml`` in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Literal

from pydantic import Field

from caretbench.languages import language as language_named
from caretbench.languages.table_reader import LanguageTable, read_table


class ScopingRules(LanguageTable):
    """Scoping rules of one language.

    ``self_names`` are customary names of the object itself. ``class_scope_visible``: methods see members without a dot.
    ``writing_declares``: the scope in which a write to an unknown name declares it. ``through_*``: kinds of scopes that
    a written name (``write``), a plain declaration (``local``) or a hoisted one passes on its way outwards. ``stdlib``:
    first parts of the standard library's module names. ``modules``: the way from a module name to a file.
    ``block_scopes``: loops and blocks have scopes. ``separate_methods``: a method and a variable may share a name.
    ``known``: names of the standard library by module.
    """

    self_names: frozenset[str] = frozenset()
    class_scope_visible: bool = True
    writing_declares: Literal["function", "file", "nowhere"] = "nowhere"
    through_on_write: frozenset[str] = frozenset()
    through_on_local: frozenset[str] = frozenset()
    through_on_hoist: frozenset[str] = frozenset()
    builtins: frozenset[str] = frozenset()
    stdlib: frozenset[str] = frozenset()
    modules: Literal["dotted", "relative", "include", "namespace", "package"] = "dotted"
    block_scopes: bool = True
    separate_methods: bool = False
    known: dict[str, frozenset[str]] = Field(default_factory=dict)

    @cached_property
    def known_names(self) -> Mapping[str, str]:
        """Module of every name that is known without an import."""
        return {name: module for module, names in self.known.items() for name in names}


@cache
def _read(name: str) -> ScopingRules:
    return read_table(name, "traits", ScopingRules) or ScopingRules()


def scoping_rules_of(language: str) -> ScopingRules:
    """Return the rules of a language, by name or alias.

    Raises:
        KeyError: the table has no such language.
    """
    return _read(language_named(language).name)
