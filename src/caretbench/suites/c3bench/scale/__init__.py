"""Scale-Control Completion: specifications of how much to write, and their verifier."""

from caretbench.suites.c3bench.scale.scale_types import Allowances, ScaleSpecification, ScaleVerdict
from caretbench.suites.c3bench.scale.verifier import verify

__all__ = ["Allowances", "ScaleSpecification", "ScaleVerdict", "verify"]
