"""Benchmark of a run: the selected problems of one suite, a policy and a profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from caretbench.errors import UsageError
from caretbench.extraction.policies import Policy
from caretbench.extraction.policies import policy as find_policy
from caretbench.problem import Problem, Profile
from caretbench.profiles import profile_named
from caretbench.runs.plans.config import SuiteConfig
from caretbench.runs.run_folder import DataInfo, Manifest, RunFolder
from caretbench.runs.user_metrics import UserMetric, user_metrics
from caretbench.runs.verdict import needs_execution
from caretbench.suites import load_problems
from caretbench.suites import load_suite as find_suite
from caretbench.suites.base import Suite
from caretbench.suites.selection import Selection
from caretbench.suites.suite_types import ProblemSet
from caretbench.versions import current_model, versions


class Benchmark(NamedTuple):
    """Selected problems of one suite, with all settings of a run's folder except models."""

    suite: Suite
    data: ProblemSet
    problems: list[Problem]
    policy: Policy
    profile: Profile
    execute: bool
    variants: dict[str, str]
    folder: RunFolder
    further_policies: tuple[Policy, ...] = ()
    """Policies under which the same answers are scored in addition to ``policy``."""
    selection: Selection = Selection()
    prompt: str | None = None
    """Prompt strategy for all models; None: that of each model."""
    metrics: tuple[UserMetric, ...] = ()
    """Metrics in addition to the suite's own."""
    adds: bool = False
    """True if the problems may be added to a run of others."""

    @classmethod
    def from_config(
        cls, config: SuiteConfig, *, execute: bool = True, output: Path | None = None, root: Path = Path("runs")
    ) -> Benchmark:
        """Return the benchmark of a configuration; without ``output`` its folder is ``root/SUITE-DATA-PROFILE``.

        Raises:
            UsageError: an option is wrong; an unknown suite, policy or language.
            DataError: the data are wrong.
        """
        profile = profile_named(config.profile)
        suite = find_suite(config.name)
        loaded = load_problems(suite, config.data)
        problems = config.selection.apply(suite, loaded.problems)
        names = [config.policy] if isinstance(config.policy, str) else [*(config.policy or ())]
        policy, *further_policies = dict.fromkeys(map(find_policy, names or [suite.rules(profile).policy]))
        folder = RunFolder(output or root / f"{suite.name}-{loaded.name}-{profile}")
        execute = execute and any(map(needs_execution, problems))
        return cls(
            suite, loaded, problems, policy, profile, execute, parse_variants(config.variants), folder,
            (*further_policies,), config.selection, config.prompt,
            metrics=user_metrics(config.metrics),
        )  # fmt: skip

    def manifest(self) -> Manifest:
        """Return the manifest of a run on this benchmark, without models."""
        return Manifest(
            suite=self.suite.name,
            data=DataInfo(
                name=self.data.name, hash=self.data.hash, problems=len(self.data.problems), selected=len(self.problems)
            ),
            policy=self.policy.key,
            further_policies=[entry.key for entry in self.further_policies],
            profile=self.profile,
            selections=[self.selection],
            executed=self.execute,
            variants=self.variants,
            versions=versions(),
        )


def parse_variants(options: Iterable[str]) -> dict[str, str]:
    """Return the named builds of ``language=name`` options, by language.

    Raises:
        UsageError: an option is wrong, or the language has no such build; an unknown language.
    """
    from caretbench.execution.toolchains import load_runtime
    from caretbench.languages import language

    chosen = {}
    for option in options:
        name, found, value = option.partition("=")
        if not found:
            raise UsageError(f"variant {option!r}: expected language=name, cpp=common_headers for example")
        spoken = language(name).name
        known = load_runtime(spoken).variants
        if value not in known:
            raise UsageError(f"variant {option!r}: {spoken} has {', '.join(known) or 'no variants'}")
        chosen[spoken] = value
    return chosen


def baseline_names(names: Sequence[str] | None, suites: Iterable[Suite]) -> list[str]:
    """Return the names of baselines that a run writes; None: all baselines of the suites.

    Each suite gets those that it has.

    Raises:
        UsageError: no suite has such a baseline.
    """
    own = {suite.name: suite.baselines for suite in suites}
    if names is None:
        return [*dict.fromkeys(name for writers in own.values() for name in writers)]
    names = [current_model(name) for name in names]
    for name in names:
        if not any(name in writers for writers in own.values()):
            known = "; ".join(f"{suite} has {', '.join(writers)}" for suite, writers in own.items())
            raise UsageError(f"unknown baseline {name!r}; {known}")
    return names
