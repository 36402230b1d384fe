"""Metrics of users: plug-ins that give an answer a number from 0 to 1, in addition to what its suite measures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from caretbench.errors import DataError, UsageError
from caretbench.plugins import Plugin, Version, function_version, installed_plugins, load_plugin
from caretbench.problem import Problem
from caretbench.runs.plans.config import MetricFunction
from caretbench.suites.suite_types import Measurement

_GROUP: Final[Literal["caretbench.metrics"]] = "caretbench.metrics"

USER_METRIC: Final = "metric:"
"""Beginning of the scorers and values of users' metrics, which no suite has."""


@dataclass(frozen=True)
class UserMetric:
    """Metric of a plug-in: a function of the inserted text and the problem. ``scorer`` is its name with its version."""

    plugin: Plugin
    function: MetricFunction
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
        value = 0.0
        if text is not None:
            value = self.plugin.call(f"failed on an answer to {problem.id}", self.function, text, problem)
            if not isinstance(value, int | float) or not 0 <= value <= 1:
                raise self.plugin.error(f"returned {value!r:.80} for {problem.id}; expected a number from 0 to 1")
        return Measurement(self.scorer, {self.name: float(value)})

    def replaces(self, scorer: str) -> bool:
        """Return whether a score row is of another version of this metric."""
        return scorer.rpartition("@")[0] == self.name and scorer != self.scorer


def user_metric(metric: str | MetricFunction) -> UserMetric:
    """Return the metric of a function, of an installed plug-in, or of the function at ``module:object``.

    Raises:
        DataError: There is none; the message lists the installed ones.
        UsageError: A function has no name or no version.
        PluginError: It cannot be used.
    """
    if not isinstance(metric, str):
        name = getattr(metric, "__name__", "")
        if not name.isidentifier():
            raise UsageError(f"metric {metric!r:.80}: it has no name; define it with def, or set its __name__")
        plugin = Plugin(name, metric, metric.__module__, f"function of {metric.__module__}")
        return _metric(plugin, function_version(metric, f"metric {name}"))
    plugin_metric = load_plugin(_GROUP, metric, ())
    if plugin_metric is None:
        known = ", ".join(installed_plugins(_GROUP, ())) or "none is installed"
        raise DataError(f"unknown metric {metric!r}; known: {known}; or give module:object")
    if isinstance(plugin_metric.value, type) or not callable(plugin_metric.value):
        raise plugin_metric.error(f"expected a function of (answer, problem), got {plugin_metric.value!r:.80}")
    return _metric(plugin_metric, plugin_metric.version_of(plugin_metric.value))


def user_metrics(metrics: Iterable[str | MetricFunction]) -> tuple[UserMetric, ...]:
    """Return the metrics, each once.

    Raises:
        UsageError: Two metrics have one name.
        DataError: There is no such metric.
        PluginError: One cannot be used.
    """
    loaded = [user_metric(metric) for metric in dict.fromkeys(metrics)]
    names = [metric.name for metric in loaded]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"two metrics are called {twice.removeprefix(USER_METRIC)!r}; rename one of them")
    return tuple(loaded)


def _metric(plugin: Plugin, version: Version) -> UserMetric:
    return UserMetric(plugin, plugin.value, f"{USER_METRIC}{plugin.name}@{version}")
