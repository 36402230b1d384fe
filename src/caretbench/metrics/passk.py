"""pass@k: unbiased estimate from n samples of the probability that at least one of k samples passes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb


def pass_at_k(samples: int, passed: int, k: int, *, any_of_fewer: bool = False) -> float:
    """Return pass@k of one problem, 1 - C(n-c, k) / C(n, k).

    Source: Chen et al., "Evaluating Large Language Models Trained on Code" (2021), section 2.1.

    Args:
        samples: Number n of samples.
        passed: Number c of those that passed.
        k: Number of samples that are drawn.
        any_of_fewer: With fewer than k samples, return 1 if any passed, as DevBench's released script does.

    Raises:
        ValueError: fewer than k samples, or impossible counts.
    """
    if not 0 <= passed <= samples:
        raise ValueError(f"{passed} of {samples} samples cannot have passed")
    if k < 1:
        raise ValueError(f"k is {k}; it counts samples and is at least 1")
    if samples < k:
        if any_of_fewer:
            return float(passed > 0)
        raise ValueError(f"pass@{k} needs {k} samples; there are {samples}")
    return 1.0 - comb(samples - passed, k) / comb(samples, k)


def pass_rates(counts: Sequence[tuple[int, int]], *, any_of_fewer: bool = False) -> dict[int, list[float | None]]:
    """Return pass@k of each problem, for every k up to the largest number of samples; None for an excluded problem.

    Args:
        counts: Numbers of samples with a verdict, and of passed samples, by problem.
        any_of_fewer: As in :func:`pass_at_k`; otherwise a problem with fewer than k samples is excluded.
    """
    most = max((samples for samples, _ in counts), default=0)
    return {
        k: [
            _rate(samples, passed, k) if samples >= k or (any_of_fewer and samples) else None
            for samples, passed in counts
        ]
        for k in range(1, most + 1)
    }


# A report asks for the few possible pairs of counts again for every cell, model and k.
@lru_cache(maxsize=4096)
def _rate(samples: int, passed: int, k: int) -> float:
    return pass_at_k(samples, passed, k, any_of_fewer=True)


def coverage(verdicts: int, expected: int) -> float | None:
    """Return the share of the expected verdicts that exist; None if none is expected."""
    return verdicts / expected if expected else None
