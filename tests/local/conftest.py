"""The real small model, where it is here or can be had."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.local.weights_pull import pull_weights


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The weights of SmolLM2, pulled where they are not here; skips without a network or an engine."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("no engine: pip install 'caretbench[local]'")
    try:
        return pull_weights("smollm2").path
    except DataError as error:
        pytest.skip(f"no weights: {error}")
