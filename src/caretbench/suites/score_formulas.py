"""Score formulas of papers, applied to averages that a user gives as ``NAME=VALUE``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from caretbench.errors import UsageError


@dataclass(frozen=True)
class ScoreFormula:
    """The formula of a paper's score: ``compute`` makes the score of averages by name.

    ``maxima`` has the maximum of each average by name; the minimum is 0. Averages up to 1 may be given in percent.
    """

    title: str
    text: str
    maxima: Mapping[str, float]
    compute: Callable[[Mapping[str, float]], float]

    def apply(self, settings: Sequence[str]) -> float:
        """Return the score of averages that are given as ``NAME=VALUE``, in any order.

        Raises:
            UsageError: an average is missing, unknown, given twice, or no number in its range.
        """
        averages: dict[str, float] = {}
        for setting in settings:
            name, equals, value = setting.partition("=")
            name = name.strip().lower()
            if not equals or name not in self.maxima:
                raise UsageError(f"{setting!r}: expected NAME=VALUE with one of the names {', '.join(self.maxima)}")
            if name in averages:
                raise UsageError(f"{setting!r}: {name} is given twice; give each average once")
            averages[name] = self._number(setting, name, value.strip())
        if missing := [name for name in self.maxima if name not in averages]:
            raise UsageError(
                f"no average for {', '.join(missing)}; give {' '.join(f'{name}=VALUE' for name in missing)}"
            )
        return self.compute(averages)

    def _number(self, setting: str, name: str, text: str) -> float:
        maximum = self.maxima[name]
        percent = text.endswith("%") and maximum == 1
        try:
            value = float(text.removesuffix("%")) / 100 if percent else float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value <= maximum:
            also = ", or a percentage" if maximum == 1 else ""
            raise UsageError(f"{setting!r}: expected a number from 0 to {maximum:g}{also}")
        return value
