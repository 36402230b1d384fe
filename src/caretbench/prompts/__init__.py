"""Prompts for models: strategies, templates, FIM formats, budgets."""

from caretbench.prompts.prompt_plugins import Preprocessor, preprocessor, preprocessors
from caretbench.prompts.registry import AUTO, choose, strategies, strategy

__all__ = ["AUTO", "Preprocessor", "choose", "preprocessor", "preprocessors", "strategies", "strategy"]
