"""pass@k: the chance that at least one of k samples passes, estimated without bias from n samples."""

from __future__ import annotations

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
        ValueError: fewer than k samples, or counts that cannot be.
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
