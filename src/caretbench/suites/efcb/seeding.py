"""Random generators by seed, purpose and item, and ids of problems.

No generator is shared: the result for one item depends neither on other items nor on the order of records,
dictionaries or folders.
"""

from __future__ import annotations

import random
import re
from typing import Final

from caretbench.files import sha256_text

VERSION: Final = 2
"""Version of the construction of problems; changes of shown or drawn contents need a new one, and give new ids."""

_DIGITS: Final = 10


def seeded_random(seed: int, purpose: str, item: str) -> random.Random:
    """Return the generator of one purpose and item."""
    return random.Random(int(sha256_text(str(seed), purpose, item), 16))  # noqa: S311 - draws, keeps no secret


def problem_id(
    task: str, tier: str, repo: str, merge_sha: str, configuration: str, *, variant: str = "", rotation: int = 0
) -> str:
    """Return the id of a problem: ``tailscale/gmcq-easy-matched/1a2b3c4d5e``.

    The last part is ten digits of a hash over version, task, tier, query variant, repository, merge commit and
    configuration. A rotation of the same choices has the suffix ``-r1``, and the same digits. Tier and variant may be
    empty.
    """
    digits = sha256_text(str(VERSION), task, tier, variant, repo, merge_sha, configuration)[:_DIGITS]
    kind = "-".join(_slug(part) for part in (task, tier, variant) if part)
    turned = f"-r{rotation}" if rotation else ""
    return f"{_slug(repo.rsplit('/', 1)[-1])}/{kind}/{digits}{turned}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-") or "x"
