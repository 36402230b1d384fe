"""Randomness that depends on a seed, a purpose and an item alone, and the ids of problems.

Nothing is drawn from a shared generator: what one item gets changes neither when another one comes or goes, nor with
the order of records, of a dictionary or of a folder.
"""

from __future__ import annotations

import random
import re
from typing import Final

from caretbench.files import sha256_text

VERSION: Final = 2
"""Of the way problems are built. A change of what is shown or drawn is a new version, and gives new ids."""

_DIGITS: Final = 10


def rng(seed: int, purpose: str, item: str) -> random.Random:
    """Return a generator of its own for one purpose and item."""
    return random.Random(int(sha256_text(str(seed), purpose, item), 16))  # noqa: S311 - draws, keeps no secret


def item_id(
    task: str,
    tier: str,
    repo: str,
    merge_sha: str,
    configuration: str,
    *,
    variant: str = "",
    rotation: int = 0,
) -> str:
    """Return the id of a problem: ``tailscale/gmcq-easy-matched/1a2b3c4d5e``.

    The last part begins with ten digits of a hash over version, task, tier, variant (how the same change is asked for
    in another way), repository, merge commit and configuration. A rotation of the same choices adds ``-r1``, and shares
    the digits. Tier and variant may be empty.
    """
    digits = sha256_text(str(VERSION), task, tier, variant, repo, merge_sha, configuration)[:_DIGITS]
    kind = "-".join(_slug(part) for part in (task, tier, variant) if part)
    turned = f"-r{rotation}" if rotation else ""
    return f"{_slug(repo.rsplit('/', 1)[-1])}/{kind}/{digits}{turned}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-") or "x"
