"""pass@k: the chance that at least one of k samples passes, estimated without bias from n samples."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray


def _check(samples: int, passed: int, k: int) -> None:
    if not 0 <= passed <= samples:
        raise ValueError(f"{passed} of {samples} samples cannot have passed")
    if k < 1:
        raise ValueError(f"k is {k}; it counts samples and is at least 1")


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """pass@k of one problem, 1 - C(n-c, k) / C(n, k).

    Source: Chen et al., "Evaluating Large Language Models Trained on Code" (2021), section 2.1.

    Raises:
        ValueError: fewer than k samples, or counts that cannot be.
    """
    _check(samples, passed, k)
    if samples < k:
        raise ValueError(f"pass@{k} needs {k} samples; there are {samples}")
    return 1.0 - comb(samples - passed, k) / comb(samples, k)


def paper_pass_at_k(samples: int, passed: int, k: int) -> float:
    """pass@k as DevBench's released script has it: with fewer than k samples, 1 if any passed.

    Raises:
        ValueError: counts that cannot be.
    """
    _check(samples, passed, k)
    return float(passed > 0) if samples < k else pass_at_k(samples, passed, k)


def per_problem_pass_at_k(samples: Sequence[int], passed: Sequence[int]) -> NDArray[np.float64]:
    """pass@k of many problems, for every k that all of them have samples for.

    Returns:
        An array of problems by k; column 0 is pass@1. Its columns serve the intervals and paired tests.

    Raises:
        ValueError: no problems, a problem without samples, or counts that cannot be.
    """
    n = np.asarray(samples, dtype=np.float64)
    c = np.asarray(passed, dtype=np.float64)
    if n.shape != c.shape or n.ndim != 1 or not n.size:
        raise ValueError("samples and passed name the same problems, and at least one")
    if (c < 0).any() or (c > n).any() or (n < 1).any():
        raise ValueError("each problem has at least one sample, and at most as many passes as samples")
    drawn = np.arange(int(n.min()), dtype=np.float64)
    # C(n-c, k) / C(n, k) is the product of (n-c-i) / (n-i) over the k draws: no large numbers, no overflow.
    all_fail = np.clip(n[:, None] - c[:, None] - drawn, 0.0, None) / (n[:, None] - drawn)
    return np.asarray(1.0 - np.cumprod(all_fail, axis=1), dtype=np.float64)


def mean_pass_at_k(samples: Sequence[int], passed: Sequence[int]) -> dict[int, float]:
    """Mean pass@k over problems by k, for every k that all problems have samples for.

    Raises:
        ValueError: as :func:`per_problem_pass_at_k`.
    """
    means = per_problem_pass_at_k(samples, passed).mean(axis=0)
    return {k: float(mean) for k, mean in enumerate(means, start=1)}
