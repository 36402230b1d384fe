"""A project with few tests, and tests that a model could write for it: good, vacuous, flaky, failing, hostile."""

from __future__ import annotations

from typing import Final

SHOP: Final = '''\
"""A shop."""

PRICES = {"apple": 2, "pear": 3}


def total(names, discount=0):
    """Return what the names cost."""
    found = 0
    for name in names:
        if name in PRICES:
            found += PRICES[name]
        else:
            found += 10
    if discount > found:
        return 0
    return found - discount


def label(name, amount):
    """Return a line of the bill."""
    words = [name.upper(), str(amount)]
    if amount > 99:
        words.append("!")
    return " ".join(words)


def size(names):
    """Return the number of names."""
    count = 0
    for _ in names:
        count += 1
    return count
'''

HEAD: Final = "import os\nimport sys\nimport random\nimport time\n\nimport shop\n"
GOOD: Final = {
    "test_total": 'def test_total():\n    assert shop.total(["apple", "pear", "nut"]) == 15\n',
    "test_label": 'def test_label():\n    assert shop.label("nut", 5) == "NUT 5"\n',
    "test_discount": 'def test_discount():\n    assert shop.total(["apple"], 9) == 0\n',
}
BAD: Final = {
    "test_silent": ("asserts_nothing", "def test_silent():\n    shop.label('nut', 100)\n"),
    "test_vacuous": ("vacuous", "def test_vacuous():\n    found = shop.label('nut', 100)\n    assert found == found\n"),
    "test_known": ("reaches_nothing_new", "def test_known():\n    assert shop.size([1]) == 1\n"),
    "test_failing": ("fails", 'def test_failing():\n    assert shop.label("nut", 100) == "HOSTILE"[:3] * 9\n'),
    "test_flaky": (
        "flaky",
        "def test_flaky():\n    assert shop.label('nut', 100) == 'NUT 100 !'\n"
        "    assert random.SystemRandom().random() < 0.1\n",
    ),
    "test_ends_the_process": (
        "touches_the_runner",
        "def test_ends_the_process():\n    assert shop.label('nut', 100)\n    os._exit(0)\n",
    ),
    "test_leaves": ("fails", "def test_leaves():\n    assert shop.label('nut', 100)\n    sys.exit(0)\n"),
    "test_edits_the_project": (
        "changes_files",
        "def test_edits_the_project():\n    open('shop.py', 'a').write('# more')\n"
        "    assert shop.label('nut', 100) == 'NUT 100 !'\n",
    ),
    "test_deletes": (
        "changes_files",
        "def test_deletes():\n    assert shop.label('nut', 100) == 'NUT 100 !'\n    os.remove('shop.py')\n",
    ),
    "test_writes_outside": (
        "fails",
        "def test_writes_outside():\n    assert shop.label('nut', 100) == 'NUT 100 !'\n"
        "    open('/usr/HOSTILE', 'w').write('x')\n",
    ),
    "test_prints_for_ever": (
        "exceeds_limits",
        "def test_prints_for_ever():\n    assert shop.label('nut', 100)\n"
        "    while True:\n        os.write(2, b'HOSTILE \\x1b[31m' * 9999)\n",
    ),
    "test_poisons": (
        "not_repeatable",
        "def test_poisons():\n    assert shop.label('nut', 100) == 'NUT 100 !'\n"
        "    shop.label = lambda *_: 'HOSTILE'\n",
    ),
    "test_reads_the_source": (
        "reads_the_source",
        "def test_reads_the_source():\n    shop.label('nut', 100)\n"
        "    assert 'words.append(' + repr('!').replace(chr(39), chr(34)) in open('shop.py').read()\n"
        "    assert open('shop.py').read().count(chr(10)) == 32 and '_mark' not in open('shop.py').read()\n",
    ),
    "test_reads_the_code_object": (
        "reads_the_source",
        "def test_reads_the_code_object():\n    shop.label('nut', 100)\n"
        "    assert {99, '!', ' '} <= set(shop.label.__code__.co_consts)\n",
    ),
    "test_calls_home": (
        "fails",
        "def test_calls_home():\n    import urllib.request\n    assert shop.label('nut', 100)\n"
        "    urllib.request.urlopen('http://example.test/', timeout=2)\n",
    ),
}
"""Names of bad tests, with the kind of reason to drop each and its text."""


def answered(*tests: str, head: str = HEAD) -> str:
    """An answer with these tests in one fence."""
    return "Here they are:\n\n```python\n" + head + "".join(f"\n\n{one}" for one in tests) + "```\n"
