"""Handlers of the review server, one for each address. All run on one thread: the state is never changed by two."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response

from caretbench.files import replace_surrogates
from caretbench.page_scripts import token_diff_script
from caretbench.people.review.database import Person, ReviewDatabase
from caretbench.people.review.protocol import PAGE_KEYS, Answer
from caretbench.people.review.queues import QueueEntry
from caretbench.people.review.records import OWNER, new_event_id, now
from caretbench.people.review.server.entries import EntryPages, answer_texts, rendered, visible_html
from caretbench.people.review.server.submitted_events import BrowserClock, Verdict, foreign_page, submit
from caretbench.people.review.state import ReviewState
from caretbench.people.review.status import item_table, status_tables

_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@cache
def asset(name: str) -> tuple[str, str] | None:
    """Return the text and the media type of a file of the pages, or None."""
    folder = resources.files("caretbench.people.review.server").joinpath("assets")
    files = {file.name: file for file in folder.iterdir()}
    kind = next((kind for suffix, kind in _TYPES.items() if name.endswith(suffix)), None)
    return (files[name].read_text("utf-8"), kind) if name in files and kind else None


MAX_EVENTS = 1_000
"""Maximum number of events of one request."""


class Accounts(NamedTuple):
    """Accounts that a proxy names in a header of each request; ``owner`` is the name of the reviews' owner."""

    header: str
    owner: str = ""

    def name(self, request: Request) -> str | None:
        """Return the name of the caller's account, or None where the proxy names none."""
        value = request.headers.get(self.header)
        # Headers are read as Latin-1, and proxies send UTF-8.
        name = value.encode("latin-1").decode("utf-8", "replace").strip() if value else ""
        return name or None


PersonHandler = Callable[[Request, Person], Awaitable[Response]]
"""Handler of a request by a person whom the server knows."""

HELD_ENTRIES: Final = 20
"""Number of entries that a browser holds, so that a reviewer can go on without the server."""

_COOKIE_DAYS: Final = 90


class ReviewHandlers:
    """Handlers with the database and the state that they share; ``root`` is the path of all their addresses."""

    def __init__(
        self, database: ReviewDatabase, *, root: str = "", secure: bool = False, accounts: Accounts | None = None
    ) -> None:
        self.database = database
        self.root = root
        self._secure = secure
        self._accounts = accounts
        self.state = ReviewState(database)
        self.pages = EntryPages(database, self.state, root)
        self.cookie = f"caretbench-review-{database.identity}"
        self._clocks: dict[str, BrowserClock] = {}

    # --- joining ---

    async def show_link(self, request: Request) -> Response:
        """Show who is invited, and the guidelines. A link that is only looked at stays valid."""
        secret = request.path_params["secret"]
        person = self.database.invited(secret)
        if person is None:
            return _unknown_link()
        here = self.person(request)
        former = here.name if here is not None and here.name != person.name else ""
        return _page("join.html.j2", self, person=person, secret=secret, former=former)

    async def use_link(self, request: Request) -> Response:
        """Use a link: the browser gets a cookie, and the link ends."""
        joined = self.database.join(request.path_params["secret"])
        if joined is None:
            return _unknown_link()
        person, cookie = joined
        self.state.refresh()
        response = RedirectResponse(self.root + ("/owner" if person.role == "owner" else "/"), 303)
        age = _COOKIE_DAYS * 24 * 3600
        response.set_cookie(
            self.cookie, cookie, max_age=age, path="/", httponly=True, samesite="strict", secure=self._secure
        )
        return response

    # --- pages ---

    async def review(self, request: Request) -> Response:
        """Show the first entry of the person's queue, as a form that works without scripts."""
        person = self.person(request)
        if person is None:
            return self.stranger(request)
        if person.role == "owner":
            return RedirectResponse(f"{self.root}/owner", 303)
        return self._review_page(person)

    async def decide(self, request: Request) -> Response:
        """Take the decision of a plain form, and go on to the next entry."""
        person = self.person(request)
        if person is None or person.role == "owner":
            return PlainTextResponse("not invited", 401)
        form: dict[str, str] = {}
        for name, value in parse_qsl((await request.body()).decode("utf-8", "replace"), max_num_fields=100):
            # Boxes of one question have one name.
            form[name] = f"{form[name]}+{value}" if name in form and name.startswith("q-") else value
        action = form.get("action", "decide")
        if form.get("person") != person.name:
            return _message("Another person", foreign_page(form.get("person", "?"), person), 409)
        entry = QueueEntry(form.get("item", ""), int(form.get("repeat") == "1"))
        if action == "undo":  # `back` takes back the item of the form instead
            last = self.state.last_decision(person.name)
            if last is None:
                return RedirectResponse(f"{self.root}/", 303)
            entry = QueueEntry(last.item, last.repeat)
        answers = self._form_answers(form)
        kinds = {"undo": "withdrawal", "back": "withdrawal", "later": "later", "send_back": "send_back"}
        verdict = submit(
            self.database, self.state, person,
            {
                "id": form.get("id", ""), "person": person.name, "kind": kinds.get(action, "decision"),
                "item": entry.item, "repeat": entry.repeat, "protocol": self.state.protocol.key, "made_at": now(),
                "answers": answers if action == "decide" else {}, "note": form.get("note", ""),
            },
        )  # fmt: skip
        if verdict.status == "refused":
            return self._review_page(person, entry, answers, verdict.reason)
        return self._review_page(person, entry) if action == "back" else RedirectResponse(f"{self.root}/", 303)

    async def own_decisions(self, request: Request) -> Response:
        """Show a person's own decisions, the last one first, each with a way back."""
        person = self.person(request)
        if person is None or person.role == "owner":
            return PlainTextResponse("not invited", 401)
        self.state.refresh()
        protocol = self.state.protocol
        rows = []
        for event in self.state.own_decisions(person.name):
            item = self.database.item(event.item)
            fixed = person.role == "reviewer" and self.state.is_adjudicated(event.item)
            if item is not None and event.item not in self.state.replaced:
                answers = "; ".join(answer_texts(protocol, event).values())
                # Controls and second decisions look like the others.
                start = next((line.strip() for line in item.shown.span.splitlines() if line.strip()), "")
                rows.append((event, visible_html(start[:80]), answers, fixed, new_event_id()))
        return _page("decisions.html.j2", self, person=person, rows=rows)

    async def guidelines(self, request: Request) -> Response:
        """Show the guidelines of the protocol."""
        if self.person(request) is None:
            return PlainTextResponse("not invited", 401)
        return _message(self.state.protocol.title, self.guidelines_html, 200)

    async def owner(self, request: Request) -> Response:
        """Show progress, agreement, and all that was said to the owner."""
        person = self.person(request)
        if person is None or person.role != "owner":
            return PlainTextResponse("only for the owner, with the link that `caretbench review serve` prints", 403)
        self.state.refresh()
        return _page(
            "owner.html.j2",
            self,
            tables=[*status_tables(self.state, self.database), item_table(self.state, self.database)],
        )

    async def plain_text(self, request: Request) -> Response:
        """Return an item's program as plain text, whole, to whom it is shown."""
        person, item_id = self.person(request), request.path_params["item"]
        item = self.database.item(item_id)
        if person is None or item is None or not self._may_see(person, item_id):
            return PlainTextResponse("no such item in your queue", 404)
        return PlainTextResponse(item.shown.before + item.shown.span + item.shown.after)

    async def asset(self, request: Request) -> Response:
        """Return a file of the pages."""
        name = request.path_params["name"]
        content = (token_diff_script(), "text/javascript") if name == "token_diff.js" else asset(name)
        if content is None:
            return PlainTextResponse("no such file", 404)
        return Response(content[0], media_type=content[1])

    # --- interface of the page's script ---

    def for_person(self, handler: PersonHandler) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler with the person whose page asks; strangers and pages of somebody else are refused."""

        async def checked(request: Request) -> Response:
            person = self.person(request)
            if person is None or person.role == "owner":
                return JSONResponse({"error": "not invited"}, 401)
            claimed = request.query_params.get("person", person.name)
            if claimed != person.name:
                return JSONResponse({"error": foreign_page(claimed, person)}, 409)
            return await handler(request, person)

        return checked

    async def queue(self, request: Request, person: Person) -> Response:
        """Return the next entries of a person; only those that the browser does not hold have their HTML."""
        self.state.refresh()
        held = set(request.query_params.get("held", "").split(","))
        entries = []
        for entry, _ in zip(self.state.queue(person.name), range(HELD_ENTRIES), strict=False):
            name = f"{entry.item}:{entry.repeat}"
            entries.append(
                {"item": entry.item, "repeat": entry.repeat} if name in held else self.pages.entry(person, entry)
            )
        return JSONResponse(self.state.progress(person.name)._asdict() | {"entries": entries})

    async def entry(self, request: Request, person: Person) -> Response:
        """Return one entry that the person has decided, to undo it."""
        entry = QueueEntry(request.path_params["item"], int(request.query_params.get("repeat") == "1"))
        if not self._may_see(person, entry.item):
            return JSONResponse({"error": "no such item in your queue"}, 404)
        return JSONResponse(self._decided(person, entry))

    async def last(self, _request: Request, person: Person) -> Response:
        """Return the entry of the person's last decision with its answers, to undo it; an empty object without one."""
        event = self.state.last_decision(person.name)
        if event is None:
            return JSONResponse({})
        return JSONResponse(self._decided(person, QueueEntry(event.item, event.repeat)))

    async def events(self, request: Request, person: Person) -> Response:
        """Store events of a browser; say of each what became of it."""
        try:
            values = replace_surrogates(json.loads(await request.body()))
        except (ValueError, RecursionError):
            return JSONResponse({"error": "not JSON"}, 400)
        if not isinstance(values, list) or len(values) > MAX_EVENTS:
            return JSONResponse({"error": f"expected a list of at most {MAX_EVENTS} events"}, 400)
        verdicts: list[Verdict] = []
        browser = request.cookies.get(self.cookie, "")
        clock = self._clocks.setdefault(browser, BrowserClock(self.database.fact("made_at") or ""))
        clock.measure(request.query_params.get("sent_at"))
        try:
            verdicts.extend(submit(self.database, self.state, person, value, clock) for value in values)
        except OSError as error:
            return JSONResponse({"error": f"not stored: {error}", "results": _as_json(verdicts)}, 507)
        warm_up = list(filter(None, (self._warm_up(person, value) for value in values)))
        return JSONResponse(
            self.state.progress(person.name)._asdict() | {"results": _as_json(verdicts), "warm_up": warm_up}
        )

    # --- parts ---

    @property
    def guidelines_html(self) -> Markup:
        """The guidelines as HTML."""
        from markdown_it import MarkdownIt

        html = MarkdownIt("commonmark", {"html": False}).render(self.state.protocol.guidelines)
        return Markup(html)  # noqa: S704  # HTML in the text is escaped

    def person(self, request: Request) -> Person | None:
        """Return whose request this is, by the proxy's account or else by the cookie; None: a stranger's."""
        account = self._accounts.name(request) if self._accounts else None
        if account is not None:
            is_owner = self._accounts is not None and account == self._accounts.owner
            return Person(OWNER, "owner", joined=True) if is_owner else self.database.admit(account)
        cookie = request.cookies.get(self.cookie)
        return self.database.person_of(cookie) if cookie else None

    def stranger(self, request: Request) -> Response:
        """Return the page for somebody who is not known here."""
        account = self._accounts.name(request) if self._accounts else None
        if account is not None:
            return _message(f"{account} is not invited", "Ask for it: caretbench review invite.", 403)
        return _message("Who are you?", "Open the link that you got. It works once, in one browser.", 401)

    def _may_see(self, person: Person, item: str) -> bool:
        """Return whether an item is shown to a person: one to decide, or one that the person has decided."""
        if item not in self.state.kinds:
            return False
        if person.role == "adjudicator":
            return self.state.is_disputed(item) or self.state.final_decision(item) is not None
        return person.role == "reviewer" and person.name in self.state.people_of(item)

    def _decided(self, person: Person, entry: QueueEntry) -> dict[str, Any]:
        """Return an entry with the person's answers so far."""
        former = self.state.former_decision(person.name, entry)
        restored = {"answers": dict(former.answers), "note": former.note} if former else None
        return self.pages.entry(person, entry) | ({"restored": restored} if restored else {})

    def _review_page(
        self,
        person: Person,
        entry: QueueEntry | None = None,
        answers: Mapping[str, Answer] | None = None,
        message: str = "",
    ) -> Response:
        self.state.refresh()
        first = entry or next(self.state.queue(person.name), None)
        try:
            html = self.pages.entry(person, first, answers)["html"] if first else ""
        except KeyError:
            html = ""
        protocol = self.state.protocol
        settings = {
            "root": self.root, "person": person.name, "review": self.database.identity, "protocol": protocol.key,
            "keys": {action: key for key, action in PAGE_KEYS.items()}, "open": entry,
        }  # fmt: skip
        response = _page(
            "review.html.j2", self, person=person,
            html=Markup(html),  # noqa: S704  # rendered by a template that escapes
            progress=self.state.progress(person.name), message=message, event_id=new_event_id(),
            has_decided=self.state.last_decision(person.name) is not None,
            settings=Markup(json.dumps(settings).replace("<", "\\u003c")),  # noqa: S704  # no tag can begin
        )  # fmt: skip
        response.status_code = 422 if message else 200
        return response

    def _form_answers(self, form: Mapping[str, str]) -> dict[str, Answer]:
        """Return the answers of a plain form, without those to questions that do not apply."""
        given: dict[str, Answer] = {}
        for question in self.state.protocol.open_questions(given):
            text = form.get(f"q-{question.name}", "").strip()
            if text:
                is_number = question.kind in {"scale", "problem_choice"} and text.isdecimal()
                given[question.name] = int(text) if is_number else text
        return given

    def _warm_up(self, person: Person, value: object) -> dict[str, Any] | None:
        """Return the right answers of a warm-up item that the person has just decided, or None."""
        item_id = value.get("item") if isinstance(value, dict) else None
        if not isinstance(item_id, str) or self.state.kinds.get(item_id) != "warm_up":
            return None
        event = self.state.decision(person.name, QueueEntry(item_id, 0))
        item = self.database.item(item_id)
        if event is None or item is None:
            return None
        wrong = [name for name, right in item.hidden.expect.items() if event.answers.get(name) not in right]
        return {"item": item_id, "right": not wrong, "explanation": item.hidden.explanation}


class ReviewList:
    """Handlers of a server of several reviews: the caller's reviews, and links that do not name theirs."""

    def __init__(self, reviews: Sequence[ReviewHandlers]) -> None:
        self._reviews = reviews

    async def reviews(self, request: Request) -> Response:
        """Show the reviews in which the caller takes part, with what is left to do."""
        rows = []
        for on in self._reviews:
            person = on.person(request)
            if person is not None:
                on.state.refresh()
                title, progress = on.state.protocol.title, on.state.progress(person.name)
                left = "owner" if person.role == "owner" else f"{progress.done} of {progress.total} decided"
                rows.append((on.root, title, left))
        if not rows:
            return self._reviews[0].stranger(request)
        return HTMLResponse(rendered("reviews.html.j2", rows=rows, protocol={"title": "Reviews"}))

    async def find_link(self, request: Request) -> Response:
        """Lead to the review that a link belongs to."""
        secret = request.path_params["secret"]
        on = next((on for on in self._reviews if on.database.invited(secret)), None)
        return _unknown_link() if on is None else RedirectResponse(f"{on.root}/join/{secret}", 303)


def _as_json(verdicts: list[Verdict]) -> list[dict[str, str]]:
    return [verdict._asdict() for verdict in verdicts]


def _page(name: str, handlers: ReviewHandlers, **values: Any) -> HTMLResponse:
    protocol, guidelines = handlers.state.protocol, handlers.guidelines_html
    text = rendered(name, protocol=protocol, guidelines=guidelines, root=handlers.root, **values)
    return HTMLResponse(text.encode("utf-8", "replace").decode())


def _message(title: str, text: str, status: int) -> HTMLResponse:
    return HTMLResponse(rendered("message.html.j2", title=title, text=text, protocol={"title": title}), status)


def _unknown_link() -> HTMLResponse:
    return _message("This link was used, or is unknown", "Ask for a new one: caretbench review invite.", 404)
