"""From a model's raw text to the text inserted at the caret: cleaning, and named truncation policies."""

from caretbench.extraction.clean import Cleaned, clean
from caretbench.extraction.policies import DEFAULT_POLICY, POLICIES, Extracted, Policy, policies, policy
from caretbench.extraction.surroundings import Surroundings

__all__ = [
    "DEFAULT_POLICY", "POLICIES", "Cleaned", "Extracted", "Policy", "Surroundings", "clean", "policies", "policy",
]  # fmt: skip
