"""From a model's raw text to the text inserted at the caret: cleaning, and named truncation policies."""

from caretbench.extraction.caret_surroundings import Surroundings
from caretbench.extraction.clean import CleanedText, clean
from caretbench.extraction.policies import DEFAULT_POLICY, POLICIES, ExtractedText, Policy, get_policy, policy_names

__all__ = [
    "DEFAULT_POLICY", "POLICIES", "CleanedText", "ExtractedText", "Policy", "Surroundings", "clean", "get_policy",
    "policy_names",
]  # fmt: skip
