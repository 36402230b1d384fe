"""A small project with tests, in six languages, and builds of it."""

from __future__ import annotations

from pathlib import Path

from caretbench.projects.settings import CheckSettings
from caretbench.suites.codevbench.build.builder import CodevOptions
from caretbench.suites.codevbench.build.miner import SpanSampling
from caretbench.suites.simcopilot.build.builder import SimCopilotOptions
from caretbench.suites.simcopilot.build.tasks import TaskSampling
from caretbench.suites.usage_weights import read_weights

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

# Valid JavaScript, too, so that its tests need no compiler.
TS_FILES = {"shop.ts": JS, "shop.test.cjs": JS_TEST}
JAVA = """\
class Shop {
    static int total(int[] orders, int limit) {
        int found = 0;
        for (int order : orders) {
            if (order > limit) {
                found += Math.round(order * 9 / 10);
            } else {
                found += order;
            }
        }
        return found;
    }
}
"""
JAVA_TEST = """\
public class ShopTest {
    public static void main(String[] words) {
        if (Shop.total(new int[] {10, 200, 30}, 100) != 220) throw new AssertionError("large");
    }
}
"""
CPP = """\
#include "shop.h"
#include <algorithm>

int total(const std::vector<int>& orders, int limit) {
    int found = 0;
    for (int order : orders) {
        if (order > limit) {
            found += std::min(order, order * 9 / 10);
        } else {
            found += order;
        }
    }
    return found;
}
"""
CPP_TEST = """\
#include "shop.h"

int main() {
    return total({10, 200, 30}, 100) == 220 ? 0 : 1;
}
"""
CSHARP = """\
using System;

public static class Shop
{
    public static int Total(int[] orders, int limit)
    {
        int found = 0;
        foreach (int order in orders)
        {
            if (order > limit)
            {
                found += Math.Min(order, order * 9 / 10);
            }
            else
            {
                found += order;
            }
        }
        return found;
    }
}
"""
CSHARP_TEST = """\
public static class ShopTest
{
    public static int Main()
    {
        return Shop.Total(new[] { 10, 200, 30 }, 100) == 220 ? 0 : 1;
    }
}
"""
CSHARP_RUN = """\
{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"}, "rollForward": "Major"}}
"""

SOURCES = {
    "python": FILES,
    "javascript": JS_FILES,
    "typescript": TS_FILES,
    "java": {"Shop.java": JAVA, "ShopTest.java": JAVA_TEST},
    "cpp": {
        "shop.h": "#include <vector>\nint total(const std::vector<int>& orders, int limit);\n",
        "shop.cpp": CPP,
        "tests/shop_test.cpp": CPP_TEST,
    },
    "csharp": {"Shop.cs": CSHARP, "tests/ShopTest.cs": CSHARP_TEST, "run.json": CSHARP_RUN},
}
COMMANDS = {
    "python": "python3 -m unittest",
    "javascript": "node --test",
    "typescript": "cp shop.ts shop.js && node --test shop.test.cjs",
    "java": "javac -d /tmp/out Shop.java ShopTest.java && java -cp /tmp/out ShopTest",
    "cpp": "g++ -I. -o /tmp/tests shop.cpp tests/shop_test.cpp && /tmp/tests",
    "csharp": 'dotnet exec "$DOTNET_ROOT"/sdk/*/Roslyn/bincore/csc.dll -nologo -nowarn:CS1701 -out:tests.dll '
    "$(printf -- '-r:%s ' \"$DOTNET_ROOT\"/packs/Microsoft.NETCore.App.Ref/*/ref/*/*.dll) Shop.cs tests/ShopTest.cs "
    "&& dotnet exec --runtimeconfig run.json tests.dll",
}
TOOLS = {"javascript": "node", "typescript": "node", "java": "javac", "cpp": "g++"}
"""Commands without which nothing of a language can be built; C# needs an SDK."""
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


def codev_options(limit: int = 12) -> CodevOptions:
    """Options of a Codev-Bench build of the Python project with a set-up."""
    sampling = SpanSampling(limit, None, read_weights("even"))
    return CodevOptions(
        languages=("python",), sampling=sampling, check=CheckSettings(command=COMMANDS["python"]), setup=SETUP
    )
