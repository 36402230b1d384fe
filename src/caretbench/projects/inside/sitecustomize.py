"""Module placed next to a project in its sandbox, to run its unittest tests in reverse order.

Python imports it as it starts. Nothing of the house can be imported here.
"""

from __future__ import annotations

import os
from typing import Any

if os.environ.get("CARETBENCH_ORDER") == "reversed":
    import unittest.suite

    def _reversed(self: Any) -> Any:
        return iter(list(self._tests)[::-1])

    unittest.suite.BaseTestSuite.__iter__ = _reversed  # type: ignore[method-assign]
