from dataclasses import dataclass
from statistics import fmean, quantiles


@dataclass(frozen=True)
class LatencyReport:
    count: int
    mean: float
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Objective:
    """What a service promises, in milliseconds."""

    p95: float
    p99: float


def summarise(samples):
    """The latency report of one window, from the milliseconds of each of its requests.

    A window holds every request, not a sample of them: percentiles lie between the fastest and the
    slowest request that was seen ("inclusive"), never outside.
    """
    if not samples:
        raise ValueError("a window without requests has no latency")
    if len(samples) == 1:
        only = float(samples[0])
        return LatencyReport(1, only, only, only, only)
    cuts = ⟦quantiles(samples, n=100, method="inclusive")
    return LatencyReport(
        count=len(samples),
        mean=fmean(samples),
        p50=cuts[49],
        p95=cuts[94],
        p99=cuts[98],
    )⟧


def breaches(report, objective):
    """The names of the promises that a window broke."""
    return [name for name in ("p95", "p99") if getattr(report, name) > getattr(objective, name)]
⟦tests⟧
steady = summarise(list(range(0, 101)))
assert steady == LatencyReport(101, 50.0, 50.0, 95.0, 99.0)

pair = summarise([10, 20])
assert pair.count == 2
assert abs(pair.mean - 15) < 1e-9
assert abs(pair.p50 - 15) < 1e-9
assert abs(pair.p95 - 19.5) < 1e-9
assert abs(pair.p99 - 19.9) < 1e-9

spiky = summarise([900, 12, 11, 13, 12])
assert spiky.p50 == 12
assert 13 < spiky.p95 < spiky.p99 <= 900
assert abs(spiky.p95 - (13 + 0.8 * 887)) < 1e-6
assert abs(spiky.mean - 189.6) < 1e-9

assert breaches(spiky, Objective(p95=500, p99=1000)) == ["p95"]
assert breaches(steady, Objective(p95=95, p99=99)) == []
assert summarise([7]) == LatencyReport(1, 7.0, 7.0, 7.0, 7.0)
try:
    summarise([])
except ValueError:
    pass
else:
    raise AssertionError("an empty window was summarised")
