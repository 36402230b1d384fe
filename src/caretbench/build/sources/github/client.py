"""Client of GitHub's REST API: sequential requests with retries and a request limit.

The token is sent to one host only, and appears in no message.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self
from urllib.parse import urlsplit

import httpx

from caretbench.errors import DataError
from caretbench.files import cache_folder, read_document, sha256_text, write_document
from caretbench.problem import Row
from caretbench.redaction import check_key, redact

# Waits of 1, 2, 4, 8 and 16 s: half a minute bridges a restart of a server, and a person notices the rest.
MAX_ATTEMPTS: Final = 6
MAX_WAIT_S: Final = 4000.0
"""Seconds; slightly more than the hour after which a primary limit is reset."""
# GitHub's documentation asks for a minute at least, then exponentially more.
_SECONDARY_LIMIT_WAIT_S: Final = 60.0
_FIRST_WAIT_S: Final = 1.0
# 451: removed for legal reasons.
_GONE_STATUSES: Final = frozenset({404, 410, 451})
_NOT_SHOWN_STATUSES: Final = frozenset({406, 409, 422})
"""Too large, empty, or a search that is refused."""


class RetryDecision(NamedTuple):
    """The next action after a response; ``wait_s`` is the wait before a retry, ``reason`` the cause."""

    action: Literal["accept", "wait", "skip", "stop"]
    reason: str = ""
    wait_s: float = 0.0


def decide_retry(
    status: int, headers: httpx.Headers, text: str, attempt: int, now: float, generator: random.Random
) -> RetryDecision:
    """Return the next action after a response.

    ``attempt`` is the number of requests so far, from 1; ``now`` is the time in seconds since the epoch.
    """
    if status < 400:
        return RetryDecision("accept")
    # Waiting does not help; without a stop, each of thousands of requests would fail the same way.
    if status == 401:
        return RetryDecision("stop", "GitHub rejects the token: check GITHUB_TOKEN")
    if status in _GONE_STATUSES:
        return RetryDecision("skip", f"gone (status {status})")
    if status in _NOT_SHOWN_STATUSES:
        return RetryDecision("skip", f"GitHub does not show it (status {status})")
    if status in (403, 429):
        return _decide_rate_limit(status, headers, text, attempt, now, generator)
    if status >= 500 or status == 408:
        return retry_after_error(f"status {status}", attempt, generator)
    return RetryDecision("stop", f"GitHub refuses the request (status {status}): {text[:200]}")


def retry_after_error(reason: str, attempt: int, generator: random.Random) -> RetryDecision:
    """Return the decision after a connection or server error: retry after 1 s, 2 s, 4 s, …, or stop."""
    if attempt >= MAX_ATTEMPTS:
        return RetryDecision("stop", f"{reason}, {attempt} times in a row; run the same command again to continue")
    return RetryDecision("wait", reason, _FIRST_WAIT_S * 2 ** (attempt - 1) * generator.uniform(1, 1.5))


def _decide_rate_limit(
    status: int, headers: httpx.Headers, text: str, attempt: int, now: float, generator: random.Random
) -> RetryDecision:
    words = text.lower()
    # One blocked repository (403, terms of service) must not end the mining of others.
    if "access blocked" in words:
        return RetryDecision("skip", f"blocked by GitHub (status {status})")
    after, left = _number(headers.get("retry-after")), _number(headers.get("x-ratelimit-remaining"))
    reset = _number(headers.get("x-ratelimit-reset"))
    if after is not None:
        reason, wait_s = "GitHub asks to wait", after
    # One second more: GitHub's clock and this one differ, and the reset is stated in whole seconds.
    elif left == 0 and reset is not None:
        reason, wait_s = "the limit of requests is reached until its reset", max(0.0, reset - now) + 1.0
    elif status == 429 or "rate limit" in words or "abuse" in words:
        reason = "a secondary rate limit"
        wait_s = _SECONDARY_LIMIT_WAIT_S * 2 ** (attempt - 1) * generator.uniform(1, 1.25)
    else:
        return RetryDecision("stop", f"GitHub forbids it (status {status}): {text[:200]}")
    if attempt >= MAX_ATTEMPTS or wait_s > MAX_WAIT_S:
        return RetryDecision(
            "stop",
            f"{reason}: {wait_s:.0f} s more; a GITHUB_TOKEN raises the limit; run the same command again to continue",
        )
    return RetryDecision("wait", reason, wait_s)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


class CachedResponse(Row):
    """A stored response: its ETag, its body, and the URL of the following page."""

    etag: str
    body: str
    following: str | None


class ResponseCache:
    """Responses in a folder, one file each; damaged files count as missing."""

    def __init__(self, folder: Path, token: str | None) -> None:
        self._folder = folder
        # Of the token, as what a request may see depends on it; hashed, as the file's name must not reveal it.
        self._whose = hashlib.sha256((token or "").encode()).hexdigest()

    def _path(self, url: str, accept: str) -> Path:
        return self._folder / f"{sha256_text(url, accept, self._whose)}.json"

    def get(self, url: str, accept: str) -> CachedResponse | None:
        """Return the stored response to a request, or None."""
        try:
            return read_document(self._path(url, accept), CachedResponse)
        except DataError:
            return None

    def put(self, url: str, accept: str, cached_response: CachedResponse) -> None:
        """Store a response; write errors are ignored, since the next request can be sent again."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_document(self._path(url, accept), cached_response)


API_URL: Final = "https://api.github.com"
JSON_MEDIA_TYPE: Final = "application/vnd.github+json"
DIFF_MEDIA_TYPE: Final = "application/vnd.github.diff"
API_ENVIRONMENT_VARIABLE: Final = "GITHUB_API_URL"
TOKEN_ENVIRONMENT_VARIABLE: Final = "GITHUB_TOKEN"  # noqa: S105  # the name of a variable
# Without a version GitHub returns the newest form, which may change while mining runs.
_VERSION: Final = "2022-11-28"
_TIMEOUT_S: Final = 60.0
# Diffs of whole imports reach hundreds of MB; they are no pull requests to ask questions about.
_MAX_RESPONSE_BYTES: Final = 64 << 20


class UnavailableError(Exception):
    """Error: the requested object does not exist or is not accessible; the message has the reason."""


class RequestLimitError(DataError):
    """Error: the maximum number of requests of the run is reached."""


class GithubClient:
    """Client of GitHub's REST API, a context manager.

    ``base_url`` may be that of GitHub Enterprise; None is that of ``GITHUB_API_URL``, else GitHub's. Responses "not
    modified" count towards ``max_requests``, too.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        token: str | None = None,
        max_requests: int | None = None,
        folder: Path | None = None,
        notify: Callable[[str], None] = lambda _line: None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        token = token if token is not None else os.environ.get(TOKEN_ENVIRONMENT_VARIABLE) or None
        check_key(token or "", TOKEN_ENVIRONMENT_VARIABLE)
        headers = {"X-GitHub-Api-Version": _VERSION, "User-Agent": "caretbench"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._base = (base_url or os.environ.get(API_ENVIRONMENT_VARIABLE) or API_URL).rstrip("/")
        # Redirects are followed here, to send the token to this host only (a renamed repository stays at it).
        self._http = httpx.Client(headers=headers, timeout=_TIMEOUT_S, follow_redirects=False)
        self._store = ResponseCache(folder or cache_folder() / "data" / "github", token)
        self._left = max_requests
        self._note, self._sleep, self._now = notify, sleep, now
        self._draw = random.Random()  # noqa: S311  # varies waiting times, no results
        self.requests = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get_json(self, path: str) -> Any:
        """Return the JSON value at a path of the API.

        Raises:
            UnavailableError: the object does not exist or is not shown.
            DataError: the request failed; the message has cause and remedy.
        """
        return json.loads(self._request(self._base + path, JSON_MEDIA_TYPE, json.loads).body)

    def get_pages(self, path: str) -> Iterator[list[Any]]:
        """Yield the pages of a list, following ``Link`` headers.

        Raises:
            UnavailableError, DataError: as for :meth:`get_json`.
        """
        url: str | None = self._base + path
        while url is not None:
            cached_response = self._request(url, JSON_MEDIA_TYPE, json.loads)
            rows = json.loads(cached_response.body)
            if not isinstance(rows, list):
                raise DataError(f"{self._describe(path)}: expected a list, found {type(rows).__name__}")
            yield rows
            url = cached_response.following

    def get_diff(self, path: str) -> str:
        """Return a pull request or a commit as a diff.

        Raises:
            UnavailableError, DataError: as for :meth:`get_json`.
        """
        return self._request(self._base + path, DIFF_MEDIA_TYPE, lambda text: text).body

    # --- one request --------------------------------------------------------------------------------------------

    def _request(self, url: str, accept: str, read: Callable[[str], object]) -> CachedResponse:
        """Return a response that ``read`` can parse; repeats the request if the response is cut off."""
        stored = self._store.get(url, accept)
        attempt = 0
        while True:
            attempt += 1
            step, response = self._send(url, accept, stored, attempt)
            if step.action == "accept" and response is not None:
                if response.status_code == httpx.codes.NOT_MODIFIED and stored is not None:
                    return stored
                if response.is_redirect:
                    url = self._check_host(str(httpx.URL(url).join(response.headers.get("location", ""))))
                    # A renamed repository takes one redirect, renamed twice two.
                    if attempt > 5:
                        raise DataError(f"{self._describe(url)}: redirected again and again")
                    continue
                try:
                    # Connections break in the middle of JSON with status 200, so a response counts only once it parses.
                    read(response.text)
                except ValueError:
                    step = retry_after_error("a response that breaks off", attempt, self._draw)
                else:
                    etag, following = response.headers.get("etag", ""), self._next_url(response)
                    cached_response = CachedResponse(etag=etag, body=response.text, following=following)
                    if cached_response.etag:
                        self._store.put(url, accept, cached_response)
                    return cached_response
            if step.action == "skip":
                raise UnavailableError(step.reason)
            if step.action == "stop":
                raise DataError(f"{self._describe(url)}: {redact(step.reason)}")
            self._note(f"{step.reason}: waiting {step.wait_s:.0f} s")
            self._sleep(step.wait_s)

    def _send(
        self, url: str, accept: str, stored: CachedResponse | None, attempt: int
    ) -> tuple[RetryDecision, httpx.Response | None]:
        if self._left is not None:
            if self._left < 1:
                raise RequestLimitError(
                    f"{self.requests} requests were sent (--max-requests); run the same command again to continue"
                )
            self._left -= 1
        self.requests += 1
        headers = {"Accept": accept} | ({"If-None-Match": stored.etag} if stored is not None else {})
        try:
            with self._http.stream("GET", url, headers=headers) as response:
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > _MAX_RESPONSE_BYTES:
                        return RetryDecision("skip", f"longer than {_MAX_RESPONSE_BYTES >> 20} MB"), None
            # The body is decoded here, so headers about the transfer are dropped.
            answer = httpx.Response(
                response.status_code,
                headers=[(n, v) for n, v in response.headers.items() if n not in _TRANSFER_HEADERS],
                content=bytes(body),
                request=response.request,
            )
        except httpx.HTTPError as error:
            return retry_after_error(f"no connection ({type(error).__name__})", attempt, self._draw), None
        status, begin = answer.status_code, answer.text[:1000]
        return decide_retry(status, answer.headers, begin, attempt, self._now(), self._draw), answer

    def _next_url(self, response: httpx.Response) -> str | None:
        target = response.links.get("next", {}).get("url")
        return target and self._check_host(target)

    def _check_host(self, target: str) -> str:
        """Return a URL if it is at the host that may receive the token."""
        # Scheme included: a redirect to plain HTTP would send the token in the clear.
        ours, theirs = urlsplit(self._base), urlsplit(target)
        if (ours.scheme, ours.netloc) != (theirs.scheme, theirs.netloc):
            raise DataError(f"{self._base} redirects to {theirs.netloc}, which must not receive the token")
        return target

    def _describe(self, url: str) -> str:
        return f"GitHub, {url.removeprefix(self._base)}"


_TRANSFER_HEADERS: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
