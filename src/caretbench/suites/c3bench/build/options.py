"""Options of ``caretbench build c3bench``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from caretbench.options import Option, StringList
from caretbench.problem import Row

_SOURCES, _PROBLEMS = "Sources", "Problems"

OPTIONS: Final = (
    Option("from_sources", StringList, "Source of the problems, as SOURCE; may be repeated.", "build",
           flags=("--from",), metavar="SOURCE", help_group=_SOURCES),
    Option("variants", StringList, "File of contexts, implementations and instructions by hand, TOML or JSONL; may be "
           "repeated.", "build", metavar="FILE", help_group=_SOURCES),
    Option("max_generated", int, "Maximum number of contexts for which generators write versions. Default: all.",
           "build", minimum=0, metavar="N", help_group=_SOURCES),
    Option("reviewed", Path, "Export of a review by people: problems that they rejected are dropped.", "build",
           metavar="PATH", help_group=_PROBLEMS),
    Option("max_icc", int, "Maximum number of problems about the implementation. Default: all.", "build", minimum=0,
           metavar="N", help_group=_PROBLEMS),
    Option("max_scc", int, "Maximum number of problems about the scale.", "build", default=900, minimum=0,
           metavar="N", help_group=_PROBLEMS),
    Option("max_share", float, "Maximum length of a middle, as a share of the text around it.", "build", default=0.3,
           minimum=0, metavar="SHARE", help_group=_PROBLEMS),
    Option("per_function", int, "Maximum number of middles of one function for problems about the implementation.",
           "build", default=1, minimum=1, metavar="N", help_group=_PROBLEMS),
    Option("per_file", int, "Maximum number of problems about the scale of one file.", "build", default=24, minimum=1,
           metavar="N", help_group=_PROBLEMS),
    Option("unverified", bool, "Also keep problems for which no failing wrong answer was found.", "build",
           flags=("--unverified",), default=False, help_group=_PROBLEMS),
    Option("seed", int, "Random seed of the choice.", "build", default=0, help_group=_PROBLEMS),
    Option("jobs", int, "Maximum number of programs that run at the same time. Default: the number of processors.",
           "build", flags=("--jobs", "-j"), minimum=1, help_group="Execution"),
)  # fmt: skip
"""Options of ``caretbench build c3bench``."""


class C3BuildOptions(Row):
    """Options that decide which problems are built; the manifest contains them."""

    sources: tuple[str, ...]
    max_icc: int | None = None
    max_scc: int = 900
    max_share: float = 0.3
    per_function: int = 1
    per_file: int = 24
    unverified: bool = False
    seed: int = 0
    variants: tuple[str, ...] = ()
    max_generated: int | None = None

    @classmethod
    def of(cls, sources: tuple[str, ...], values: Mapping[str, Any]) -> C3BuildOptions:
        """Return the options of a build from its sources and the values of :data:`OPTIONS`."""
        named = {name: values[name] for name in cls.model_fields if name not in {"sources", "variants"}}
        files = tuple(values["variants"] or ())
        return cls(sources=(*sources, *(values["from_sources"] or ())), variants=files, **named)
