"""Scale-Control Completion: specifications of how much to write, and their verifier."""

from caretbench.suites.c3bench.scale.scale_types import ScaleSpecification, ScaleVerdict
from caretbench.suites.c3bench.scale.verifier import verify, verify_published

__all__ = ["ScaleSpecification", "ScaleVerdict", "verify", "verify_published"]
