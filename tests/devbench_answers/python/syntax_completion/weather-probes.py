"""Morning round of a mountain weather station: every probe is read, whatever the others do."""

from dataclasses import dataclass, field


class Frozen(Exception):
    """The probe is covered with ice; heating it helps."""


class Drift(Exception):
    """The probe answers, but its value is implausible."""


@dataclass
class Round:
    values: dict[str, float] = field(default_factory=dict)
    heated: list[str] = field(default_factory=list)
    doubted: list[str] = field(default_factory=list)


def read_all(probes, values):
    """Read every probe into ``values``; raise one group with the failures, if there are any."""
    failures = []
    for name, read in probes.items():
        try:
            values[name] = read()
        except Exception as failure:
            failure.probe = name
            failures.append(failure)
    if failures:
        raise ExceptionGroup("morning round", failures)


def morning_round(probes):
    """Return a round: frozen probes are noted for heating, drifting ones as doubted; other failures are passed on."""
    result = Round()
    try:
        read_all(probes, result.values)
⟦    except* Frozen as group:
        for failure in group.exceptions:
            result.heated.append(failure.probe)
    except* Drift as group:
        for failure in group.exceptions:
            result.doubted.append(failure.probe)
⟧    return result
⟦tests⟧
def broken(error):
    def read():
        raise error

    return read


fine = morning_round({"wind": lambda: 4.5, "rain": lambda: 0.0})
assert fine == Round({"wind": 4.5, "rain": 0.0}, [], [])
assert morning_round({}) == Round()

mixed = morning_round(
    {
        "snow": broken(Frozen("ice")),
        "wind": lambda: 3.0,
        "sun": broken(Drift("-80")),
        "fog": broken(Frozen("ice")),
    }
)
assert mixed.heated == ["snow", "fog"]
assert mixed.doubted == ["sun"]
assert mixed.values == {"wind": 3.0}

try:
    morning_round({"snow": broken(Frozen("ice")), "hail": broken(OSError("cable"))})
except* OSError as rest:
    assert [failure.probe for failure in rest.exceptions] == ["hail"]
else:
    raise AssertionError("a broken cable was swallowed")
assert morning_round({"a": broken(Drift("9")), "b": broken(Drift("8"))}).doubted == ["a", "b"]
