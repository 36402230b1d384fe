"""Prompts for models: strategies, templates, FIM formats, budgets."""

from caretbench.prompts.registry import AUTO, Preprocessor, choose, preprocessor, preprocessors, strategies, strategy

__all__ = ["AUTO", "Preprocessor", "choose", "preprocessor", "preprocessors", "strategies", "strategy"]
