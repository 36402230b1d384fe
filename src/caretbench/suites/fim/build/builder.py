"""Builders of conventional benchmarks: their files are fetched, and their problems validated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from caretbench.build import register_builder
from caretbench.build.builder import Builder
from caretbench.conventional import conventional_names
from caretbench.conventional.descriptions import description, pull_files


class FimBuilder(Builder):
    """Builder of one conventional benchmark; see :class:`caretbench.build.builder.Builder`."""

    def pull(self, source: Path | None, models: Sequence[str], progress: Callable[[int, int], None]) -> Path:
        """Fetch the released files into the cache and return their folder."""
        del models
        return pull_files(self.name, source, progress)


for _name in conventional_names():
    _title = description(_name).title
    register_builder(
        type(
            f"{''.join(word.capitalize() for word in _name.split('-'))}Builder",
            (FimBuilder,),
            {"__module__": __name__, "__doc__": f"Builder of {_title}.", "name": _name,
             "pull_about": f"problems of {_title}" if description(_name).url else ""},
        )
    )  # fmt: skip
