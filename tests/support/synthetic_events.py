"""Files of synthetic events without texts, with planted rates: users differ, and each event follows its user's rate."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Planted(NamedTuple):
    """Planted shares and rates. ``acceptance`` is of seen events by block; ``spread`` of users, on the logit scale."""

    blocks: Mapping[str, float]
    acceptance: Mapping[str, float]
    languages: Mapping[str, float]
    kept: float = 0.7
    """Share of the accepted texts that are kept as they were."""
    failures: Mapping[str, float] = {}
    """Rates of error kinds among the rejected ones."""
    unseen: float = 0.1
    spread: float = 0.5


PLANTED = Planted(
    blocks={"statement": 0.6, "if": 0.1, "method": 0.06, "argument_list": 0.14, "partial_line": 0.1},
    acceptance={"statement": 0.35, "if": 0.2, "method": 0.1, "argument_list": 0.4, "partial_line": 0.3},
    languages={"python": 0.5, "typescript": 0.3, "go": 0.2},
    failures={"wrong_name": 0.3, "over_generation": 0.2, "wrong_call": 0.15, "syntax": 0.02},
)

_TEXTS = {"statement": "new_line", "if": "new_line", "method": "declaration", "argument_list": "call"}


def event_lines(count: int, users: int, planted: Planted = PLANTED, *, seed: int = 0) -> Iterator[str]:
    """Yield lines of events. The number of events of users is skewed."""
    rng = np.random.default_rng(seed)
    names = [hashlib.sha256(f"{seed}/{user}".encode()).hexdigest() for user in range(users)]
    activity = rng.gamma(1.0, 1.0, users)
    user_of = rng.choice(users, count, p=activity / activity.sum())
    shifts = rng.normal(0.0, planted.spread, users)
    block_names, language_names = list(planted.blocks), list(planted.languages)
    blocks = rng.choice(len(block_names), count, p=list(planted.blocks.values()))
    languages = rng.choice(len(language_names), count, p=list(planted.languages.values()))
    rates = np.array([planted.acceptance[name] for name in block_names])[blocks]
    logits = np.log(rates / (1 - rates)) + shifts[user_of]
    accepted = rng.random(count) < 1 / (1 + np.exp(-logits))
    unseen = ~accepted & (rng.random(count) < planted.unseen)
    kept = rng.random(count) < planted.kept
    latency = rng.gamma(4.0, 60.0, count)
    kinds = list(planted.failures)
    failing = rng.random((count, len(kinds))) < np.array([planted.failures[kind] for kind in kinds])
    salt = f"{seed}-{count}"
    for number in range(count):
        block, language = block_names[blocks[number]], language_names[languages[number]]
        found = [kind for place, kind in enumerate(kinds) if failing[number, place] and not accepted[number]]
        yield _line(
            hashlib.sha256(f"{salt}-{number}".encode()).hexdigest(),
            names[user_of[number]],
            (block, language, latency[number]),
            (bool(accepted[number]), bool(unseen[number]), bool(kept[number])),
            found,
        )


def _line(
    name: str, user: str, about: tuple[str, str, float], outcome: tuple[bool, bool, bool], failures: Sequence[str]
) -> str:
    block, language, latency = about
    accepted, unseen, kept = outcome
    later = ("0.95" if kept else "0.4") if accepted else "null"
    texts = ", ".join(f'"{kind}"' for kind in failures)
    partial = block in ("argument_list", "partial_line")
    return (
        f'{{"schema_version":1,"id":"{name}","user":"{user}","time":"2026-03-01T12:00:00Z","language":"{language}",'
        f'"outcome":"{"accepted" if accepted else "rejected"}","visible_ms":{0 if unseen else 900},'
        f'"shown":{"false" if unseen else "true"},"latency_ms":{latency:.1f},"model":"small",'
        f'"features":{{"block":"{block}","cut":"{"token" if partial else "block"}",'
        f'"boundary":"{_TEXTS.get(block, "line")}","partial_line":{"true" if partial else "false"},"lines":1,'
        f'"characters":40,"prefix_characters":900,"suffix_characters":300,"kept_5min":{later},"failures":[{texts}]}}}}'
    )


def write_events(path: Path, count: int, users: int, planted: Planted = PLANTED, *, seed: int = 0) -> Path:
    """Write a file of events; return its path."""
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(line + "\n" for line in event_lines(count, users, planted, seed=seed))
    return path


def expected_acceptance(planted: Planted, block: str) -> float:
    """Return the acceptance of the seen events of a block, over users whose logits differ by normal shifts."""
    rate = planted.acceptance[block]
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    values = 1 / (1 + np.exp(-(np.log(rate / (1 - rate)) + planted.spread * points)))
    accepted = float((values * weights).sum() / weights.sum())
    return accepted / (accepted + (1 - accepted) * (1 - planted.unseen))


def expected_share(planted: Planted, block: str) -> float:
    """Return the share of a block among the seen events."""
    seen = {}
    for name, share in planted.blocks.items():
        rate = expected_acceptance(planted, name)
        accepted = rate * (1 - planted.unseen) / (1 - planted.unseen * rate)
        seen[name] = share * (1 - (1 - accepted) * planted.unseen)
    return seen[block] / sum(seen.values())
