"""Prompts for models: strategies, templates, FIM formats, budgets."""

from caretbench.prompts.registry import (
    AUTO,
    Preprocessor,
    choose,
    get_strategy,
    preprocessor,
    preprocessors,
    strategies,
)

__all__ = ["AUTO", "Preprocessor", "choose", "get_strategy", "preprocessor", "preprocessors", "strategies"]
