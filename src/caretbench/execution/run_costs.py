"""Costs of a run as its manifest has them: CPU seconds, numbers of sandboxes, seconds of waiting."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from caretbench.execution.execution_types import FrozenModel


class RunCosts(FrozenModel):
    """Costs of a run, in seconds and numbers; those of a resumed run are the sum of its parts."""

    programs_cpu_s: float = 0.0
    compilers_cpu_s: float = 0.0
    sandboxes_cpu_s: float = 0.0
    own_cpu_s: float = 0.0
    wall_s: float = 0.0
    programs: int = 0
    """Number of sandboxed programs and compilers that were started."""
    sandboxes: int = 0
    """Number of sandboxes that were started for one program."""
    workers: int = 0
    """Number of warm sandboxes that were started."""
    reused: int = 0
    """Number of programs that ran in a warm sandbox that was there already."""
    idle_s: dict[str, float] = Field(default_factory=dict)
    """Seconds in which nothing used a processor, by what was waited for."""

    def __add__(self, other: Self) -> RunCosts:
        """Return the sum."""
        numbers = {name: getattr(self, name) + getattr(other, name) for name in _NUMBERS}
        idle = {name: self.idle_s.get(name, 0.0) + other.idle_s.get(name, 0.0) for name in self.idle_s | other.idle_s}
        return RunCosts(**numbers, idle_s=idle)

    def since(self, earlier: Self) -> RunCosts:
        """Return the difference to an earlier state."""
        return RunCosts(**{name: getattr(self, name) - getattr(earlier, name) for name in _NUMBERS})

    def sentence(self) -> str:
        """Return all figures in one sentence."""
        idle = f"{sum(self.idle_s.values()):.0f} of {self.wall_s:.0f} s"
        waited = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in sorted(self.idle_s.items()))
        return (
            f"CPU: programs {self.programs_cpu_s:.1f} s, compilers {self.compilers_cpu_s:.1f} s, sandboxes "
            f"{self.sandboxes_cpu_s:.1f} s ({self.workers} workers and {self.sandboxes} others started, {self.reused} "
            f"of {self.programs} programs reused a worker), this process {self.own_cpu_s:.1f} s; nothing used a "
            f"processor in {idle}{f', waiting for: {waited}' if waited else ''}."
        )


_NUMBERS = tuple(name for name in RunCosts.model_fields if name != "idle_s")
