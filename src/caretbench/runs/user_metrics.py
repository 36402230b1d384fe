"""Metrics of users: plug-ins that give an answer a number from 0 to 1, in addition to what its suite measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from caretbench.errors import DataError
from caretbench.plugins import Plugin, installed_plugins, load_plugin, one_line
from caretbench.problem import Problem
from caretbench.suites.suite_types import Measurement

_GROUP: Final[Literal["caretbench.metrics"]] = "caretbench.metrics"

USER_METRIC: Final = "metric:"
"""Beginning of the scorers and values of users' metrics, which no suite has."""


@dataclass(frozen=True)
class UserMetric:
    """Metric of a plug-in: a function of the inserted text and the problem. ``scorer`` is its name with its version."""

    plugin: Plugin
    function: Callable[[str, Problem], float]
    scorer: str

    @property
    def name(self) -> str:
        """Return the name of its values."""
        return f"{USER_METRIC}{self.plugin.name}"

    def measure(self, problem: Problem, text: str | None) -> Measurement:
        """Return the value of an answer; 0 without one.

        Raises:
            PluginError: The function fails, or returns no number from 0 to 1.
        """
        value = 0.0 if text is None else self._value(problem, text)
        return Measurement(self.scorer, {self.name: value})

    def _value(self, problem: Problem, text: str) -> float:
        try:
            value = self.function(text, problem)
        except Exception as error:
            raise self.plugin.error(f"failed on an answer to {problem.id}: {one_line(error)}") from error
        if not isinstance(value, int | float) or not 0 <= value <= 1:
            raise self.plugin.error(f"returned {value!r:.80} for {problem.id}; expected a number from 0 to 1")
        return float(value)

    def replaces(self, scorer: str) -> bool:
        """Return whether a score row is of another version of this metric."""
        return scorer.rpartition("@")[0] == self.name and scorer != self.scorer


def user_metric(name: str) -> UserMetric:
    """Return the metric of an installed plug-in, or the one at ``module:object``.

    Raises:
        DataError: There is none; the message lists the installed ones.
        PluginError: It cannot be used.
    """
    plugin = load_plugin(_GROUP, name, ())
    if plugin is None:
        known = ", ".join(installed_plugins(_GROUP, ())) or "none is installed"
        raise DataError(f"unknown metric {name!r}; known: {known}; or give module:object")
    if isinstance(plugin.value, type) or not callable(plugin.value):
        raise plugin.error(f"expected a function of (answer, problem), got {plugin.value!r:.80}")
    return UserMetric(plugin, plugin.value, f"{USER_METRIC}{plugin.name}@{plugin.version_of(plugin.value)}")
