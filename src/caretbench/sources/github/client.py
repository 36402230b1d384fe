"""A small client of GitHub's REST API: one request at a time, patient, within a budget.

What it is asked for is public or the token's owner's; the token goes to one host alone and into no message.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

import httpx

from caretbench.errors import DataError
from caretbench.files import cache_folder, sha256_text, write_atomically
from caretbench.redaction import redact
from caretbench.sources.github.waiting import Step, after_answer, waited


class Kept(NamedTuple):
    """A stored answer: its ETag, its body, and the address of the next page."""

    etag: str
    body: str
    following: str | None


class AnswerStore:
    """Answers below one folder, one file each; what is damaged counts as absent."""

    def __init__(self, folder: Path, token: str | None) -> None:
        self._folder = folder
        self._whose = hashlib.sha256((token or "").encode()).hexdigest()

    def _path(self, url: str, accept: str) -> Path:
        return self._folder / f"{sha256_text(url, accept, self._whose)}.json"

    def get(self, url: str, accept: str) -> Kept | None:
        """Return the stored answer to a request, if there is one."""
        try:
            value = json.loads(self._path(url, accept).read_text("utf-8"))
            kept = Kept(value["etag"], value["body"], value["following"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return kept if isinstance(kept.etag, str) and isinstance(kept.body, str) else None

    def put(self, url: str, accept: str, kept: Kept) -> None:
        """Store an answer; a full disk only costs the next request."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path(url, accept), json.dumps(kept._asdict()))
        except OSError:
            pass


API: Final = "https://api.github.com"
JSON: Final = "application/vnd.github+json"
DIFF: Final = "application/vnd.github.diff"
TOKEN: Final = "GITHUB_TOKEN"  # noqa: S105  # the name of a variable
_VERSION: Final = "2022-11-28"
_TIMEOUT_S: Final = 60.0
_LARGEST: Final = 64 << 20


class PassedOverError(Exception):
    """What was asked for is not there, or not shown; the message says which."""


class BudgetError(DataError):
    """The requests that a run may send are used up."""


class GithubClient:
    """Asks GitHub. Use it as a context manager.

    ``base_url`` is another one for GitHub Enterprise; answers that are unchanged count to ``max_requests``, too.
    """

    def __init__(
        self,
        base_url: str = API,
        *,
        token: str | None = None,
        max_requests: int | None = None,
        folder: Path | None = None,
        note: Callable[[str], None] = lambda _line: None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        token = token if token is not None else os.environ.get(TOKEN) or None
        headers = {"X-GitHub-Api-Version": _VERSION, "User-Agent": "caretbench"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._base = base_url.rstrip("/")
        # Redirects are followed by hand: a repository that was renamed stays at this host, and the token with it.
        self._http = httpx.Client(headers=headers, timeout=_TIMEOUT_S, follow_redirects=False)
        self._store = AnswerStore(folder or cache_folder() / "data" / "github", token)
        self._left = max_requests
        self._note, self._sleep, self._now = note, sleep, now
        self._draw = random.Random()  # noqa: S311  # spreads waits; no number hangs on it
        self.requests = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def json(self, path: str) -> Any:
        """What the API says at a path below its address, as JSON.

        Raises:
            PassedOverError: it is not there, or not shown.
            DataError: it cannot be had; the message says why and what to do.
        """
        return json.loads(self._asked(self._base + path, JSON, json.loads).body)

    def pages(self, path: str) -> Iterator[list[Any]]:
        """Yield the pages of a list, as ``Link`` leads from one to the next.

        Raises:
            PassedOverError, DataError: as for :meth:`json`.
        """
        url: str | None = self._base + path
        while url is not None:
            kept = self._asked(url, JSON, json.loads)
            rows, url = json.loads(kept.body), kept.following
            if not isinstance(rows, list):
                raise DataError(f"{self._shown(path)}: expected a list, found {type(rows).__name__}")
            yield rows

    def diff(self, path: str) -> str:
        """Return a pull request or a commit as a diff.

        Raises:
            PassedOverError, DataError: as for :meth:`json`.
        """
        return self._asked(self._base + path, DIFF, lambda text: text).body

    # --- one request --------------------------------------------------------------------------------------------

    def _asked(self, url: str, accept: str, read: Callable[[str], object]) -> Kept:
        """Return an answer that ``read`` can read; asked again where it comes cut off."""
        known = self._store.get(url, accept)
        attempt = 0
        while True:
            attempt += 1
            step, response = self._sent(url, accept, known, attempt)
            if step.action == "take" and response is not None:
                if response.status_code == httpx.codes.NOT_MODIFIED and known is not None:
                    return known
                if response.is_redirect:
                    url = self._ours(str(httpx.URL(url).join(response.headers.get("location", ""))))
                    if attempt > 5:
                        raise DataError(f"{self._shown(url)}: redirected again and again")
                    continue
                try:
                    read(response.text)
                except ValueError:
                    step = waited("an answer that breaks off", attempt, self._draw)
                else:
                    kept = Kept(response.headers.get("etag", ""), response.text, self._following(response))
                    if kept.etag:
                        self._store.put(url, accept, kept)
                    return kept
            if step.action == "pass_over":
                raise PassedOverError(step.reason)
            if step.action == "stop":
                raise DataError(f"{self._shown(url)}: {redact(step.reason)}")
            self._note(f"{step.reason}: waiting {step.seconds:.0f} s")
            self._sleep(step.seconds)

    def _sent(
        self, url: str, accept: str, known: Kept | None, attempt: int
    ) -> tuple[Step, httpx.Response | None]:
        if self._left is not None:
            if self._left < 1:
                raise BudgetError(
                    f"the run's requests are used up after {self.requests} (--max-requests); the same command goes on"
                )
            self._left -= 1
        self.requests += 1
        headers = {"Accept": accept} | ({"If-None-Match": known.etag} if known is not None else {})
        try:
            with self._http.stream("GET", url, headers=headers) as response:
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > _LARGEST:
                        return Step("pass_over", f"longer than {_LARGEST >> 20} MB"), None
            # The body is read and unpacked here; what remains is an answer without its transfer's headers.
            answer = httpx.Response(
                response.status_code,
                headers=[(n, v) for n, v in response.headers.items() if n not in _OF_THE_TRANSFER],
                content=bytes(body),
                request=response.request,
            )
        except httpx.HTTPError as error:
            return waited(f"no connection ({type(error).__name__})", attempt, self._draw), None
        status, begin = answer.status_code, answer.text[:1000]
        return after_answer(status, answer.headers, begin, attempt, self._now(), self._draw), answer

    def _following(self, response: httpx.Response) -> str | None:
        target = response.links.get("next", {}).get("url")
        return target and self._ours(target)

    def _ours(self, target: str) -> str:
        """Return an address, if it is at the host that may see the token."""
        ours, theirs = urlsplit(self._base), urlsplit(target)
        if (ours.scheme, ours.netloc) != (theirs.scheme, theirs.netloc):
            raise DataError(f"{self._base} sends us to {theirs.netloc}, which gets no token of ours")
        return target

    def _shown(self, url: str) -> str:
        return f"GitHub, {url.removeprefix(self._base)}"


_OF_THE_TRANSFER: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
