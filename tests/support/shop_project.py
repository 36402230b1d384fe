"""A small project with tests, in Python and in JavaScript, and builds of it."""

from __future__ import annotations

from pathlib import Path

from caretbench.projects.setup.settings import CheckSettings
from caretbench.suites.simcopilot.build_types import SimCopilotOptions
from caretbench.suites.simcopilot.mining.tasks import TaskSampling

SHOP = '''\
def total(orders, limit):
    """What orders cost; large ones are cheaper."""
    found = 0
    for order in orders:
        if order > limit:
            found += round(order * 9 / 10)
        else:
            found += order
    return found
'''
TESTS = """\
import unittest

from shop import total


class TotalTest(unittest.TestCase):
    def test_large(self):
        self.assertEqual(total([10, 200, 30], 100), 220)

    def test_none(self):
        self.assertEqual(total([], 3), 0)
"""
FILES = {"shop.py": SHOP, "test_shop.py": TESTS}
JS = """\
function total(orders, limit) {
  let found = 0
  for (const order of orders) {
    if (order > limit) { found += Math.round(order * 9 / 10) } else { found += order }
  }
  return found
}
module.exports = { total }
"""
JS_TEST = """\
const test = require('node:test')
const assert = require('node:assert')
const { total } = require('./shop')
test('large', () => assert.strictEqual(total([10, 200, 30], 100), 220))
"""
JS_FILES = {"shop.js": JS, "shop.test.js": JS_TEST}

SOURCES = {"python": FILES, "javascript": JS_FILES}
COMMANDS = {"python": "python3 -m unittest", "javascript": "node --test"}
SETUP = "mkdir -p vendored && echo 3 > vendored/stamp.txt && sleep 0.4"


def written(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def options(setup: str = SETUP, language: str = "python", command: str | None = None) -> SimCopilotOptions:
    """Options of a build with a set-up and a few candidates."""
    return SimCopilotOptions(
        languages=(language,),
        sampling=TaskSampling(limit=6),
        check=CheckSettings(command=command or COMMANDS[language]),
        setup=setup,
        unverified=True,
    )
