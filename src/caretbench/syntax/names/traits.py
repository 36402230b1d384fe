"""What the names of a language do, as far as no query can say it: ``queries/LANGUAGE/traits.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from caretbench.languages import language as language_named


class Traits(BaseModel):
    """The rules of one language.

    ``self_names`` are customary names of the object itself; ``class_scope_visible``: methods see members
    without a dot; ``writing_declares``: where writing to an unknown name creates it; ``through_*``: scopes
    that a written name (``write``), a plain declaration (``local``) or a hoisted one passes outwards;
    ``stdlib`` are the first parts of the standard library's module names; ``modules``: how a module's name
    leads to a file; ``block_scopes``: loops and blocks have names of their own; ``separate_methods``: a
    method may have the name of a variable; ``known``: names of the standard library by their modules.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

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
        """The module of every name that is known without an import."""
        return {name: module for module, names in self.known.items() for name in names}


@cache
def _read(name: str) -> Traits:
    file = resources.files("caretbench.syntax").joinpath("queries", name, "traits.toml")
    return Traits.model_validate(tomllib.loads(file.read_text("utf-8")) if file.is_file() else {})


def traits_of(language: str) -> Traits:
    """The rules of a language, by name or alias.

    Raises:
        KeyError: the table has no such language.
    """
    return _read(language_named(language).name)
