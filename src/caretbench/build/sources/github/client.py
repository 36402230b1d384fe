"""Client of GitHub's REST API: sequential requests with retries and a request limit.

The token is sent to one host only, and appears in no message.
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

from caretbench.build.sources.github.retry_decisions import RetryDecision, decide_retry, retry_after_error
from caretbench.errors import DataError
from caretbench.files import cache_folder, sha256_text, write_atomically
from caretbench.redaction import redact


class CachedResponse(NamedTuple):
    """A stored response: its ETag, its body, and the URL of the next page."""

    etag: str
    body: str
    next_url: str | None


class ResponseCache:
    """Responses in a folder, one file each; damaged files count as missing."""

    def __init__(self, folder: Path, token: str | None) -> None:
        self._folder = folder
        self._whose = hashlib.sha256((token or "").encode()).hexdigest()

    def _path(self, url: str, accept: str) -> Path:
        return self._folder / f"{sha256_text(url, accept, self._whose)}.json"

    def get(self, url: str, accept: str) -> CachedResponse | None:
        """Return the stored response to a request, or None."""
        try:
            value = json.loads(self._path(url, accept).read_text("utf-8"))
            cached_response = CachedResponse(value["etag"], value["body"], value["following"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return (
            cached_response if isinstance(cached_response.etag, str) and isinstance(cached_response.body, str) else None
        )

    def put(self, url: str, accept: str, cached_response: CachedResponse) -> None:
        """Store a response; write errors are ignored, since the next request can be sent again."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            stored = {"etag": cached_response.etag, "body": cached_response.body, "following": cached_response.next_url}
            write_atomically(self._path(url, accept), json.dumps(stored))
        except OSError:
            pass


API_URL: Final = "https://api.github.com"
JSON_MEDIA_TYPE: Final = "application/vnd.github+json"
DIFF_MEDIA_TYPE: Final = "application/vnd.github.diff"
RAW_MEDIA_TYPE: Final = "application/vnd.github.raw+json"
API_ENVIRONMENT_VARIABLE: Final = "GITHUB_API_URL"
TOKEN_ENVIRONMENT_VARIABLE: Final = "GITHUB_TOKEN"  # noqa: S105  # the name of a variable
_VERSION: Final = "2022-11-28"
_TIMEOUT_S: Final = 60.0
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
        for rows in self.get_values(path):
            if not isinstance(rows, list):
                raise DataError(f"{self._describe(path)}: expected a list, found {type(rows).__name__}")
            yield rows

    def get_values(self, path: str) -> Iterator[Any]:
        """Yield the JSON values of the pages at a path, following ``Link`` headers.

        Raises:
            UnavailableError, DataError: as for :meth:`get_json`.
        """
        url: str | None = self._base + path
        while url is not None:
            cached_response = self._request(url, JSON_MEDIA_TYPE, json.loads)
            yield json.loads(cached_response.body)
            url = cached_response.next_url

    def get_diff(self, path: str) -> str:
        """Return a pull request or a commit as a diff.

        Raises:
            UnavailableError, DataError: as for :meth:`get_json`.
        """
        return self._request(self._base + path, DIFF_MEDIA_TYPE, lambda text: text).body

    def get_text(self, path: str) -> str:
        """Return the content of a file, for example of a README, as text.

        Raises:
            UnavailableError, DataError: as for :meth:`get_json`.
        """
        return self._request(self._base + path, RAW_MEDIA_TYPE, lambda text: text).body

    # --- one request --------------------------------------------------------------------------------------------

    def _request(self, url: str, accept: str, read: Callable[[str], object]) -> CachedResponse:
        """Return a response that ``read`` can parse; repeats the request if the response is cut off."""
        known = self._store.get(url, accept)
        attempt = 0
        while True:
            attempt += 1
            step, response = self._send(url, accept, known, attempt)
            if step.action == "accept" and response is not None:
                if response.status_code == httpx.codes.NOT_MODIFIED and known is not None:
                    return known
                if response.is_redirect:
                    url = self._check_host(str(httpx.URL(url).join(response.headers.get("location", ""))))
                    if attempt > 5:
                        raise DataError(f"{self._describe(url)}: redirected again and again")
                    continue
                try:
                    read(response.text)
                except ValueError:
                    step = retry_after_error("a response that breaks off", attempt, self._draw)
                else:
                    cached_response = CachedResponse(
                        response.headers.get("etag", ""), response.text, self._next_url(response)
                    )
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
        self, url: str, accept: str, known: CachedResponse | None, attempt: int
    ) -> tuple[RetryDecision, httpx.Response | None]:
        if self._left is not None:
            if self._left < 1:
                raise RequestLimitError(
                    f"{self.requests} requests were sent (--max-requests); run the same command again to continue"
                )
            self._left -= 1
        self.requests += 1
        headers = {"Accept": accept} | ({"If-None-Match": known.etag} if known is not None else {})
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
        ours, theirs = urlsplit(self._base), urlsplit(target)
        if (ours.scheme, ours.netloc) != (theirs.scheme, theirs.netloc):
            raise DataError(f"{self._base} redirects to {theirs.netloc}, which must not receive the token")
        return target

    def _describe(self, url: str) -> str:
        return f"GitHub, {url.removeprefix(self._base)}"


_TRANSFER_HEADERS: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
