"""The review server by its addresses: links, forms, submitted events, and what each person may see."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from starlette.testclient import TestClient

from caretbench.errors import UsageError
from caretbench.people.review.database import DATABASE_NAME, ReviewDatabase
from caretbench.people.review.exchange import reopen_items
from caretbench.people.review.records import HiddenItem, now
from caretbench.people.review.server.application import ReviewServerSettings, review_application
from caretbench.people.review.server.handlers import Accounts
from caretbench.people.review.state import ReviewState
from tests.support.review_server import PROTOCOL, made_item, make_review

PEOPLE = {"ann": "reviewer", "bob": "reviewer", "eve": "adjudicator", "owner": "owner"}
SCALES = ("usefulness", "realism", "category_alignment", "complexity_authenticity")
PLANTED = ("planted-model", "planted-explanation", "planted-note-of-ann", "planted-note-of-bob")


class Visitors:
    """A review of three items with a browser for each person."""

    def __init__(self, folder: Path) -> None:
        hidden = HiddenItem(models=("planted-model",), judges={"planted-model": 0.5}, explanation="planted-explanation")
        secrets = make_review(folder, [made_item(number, hidden=hidden) for number in range(3)], PEOPLE)
        self.database = ReviewDatabase(folder / DATABASE_NAME)
        self.app = review_application({"mine": self.database}, {"testserver"})
        self.items = [item_id for _, item_id, _ in self.database.items()]
        self.by_name = {name: self.client() for name in PEOPLE}
        for name, client in self.by_name.items():
            assert client.post(f"/join/{secrets[name]}", follow_redirects=False).status_code == 303
        self.secrets = secrets

    def client(self) -> TestClient:
        return TestClient(self.app, base_url="http://testserver")

    def send(self, name: str, *events: dict[str, Any]) -> Any:
        body = json.dumps(
            [{"person": name} | event for event in events]
        )  # half a surrogate pair is escaped, as a browser sends it
        return self.by_name[name].post("/api/events", content=body)


@pytest.fixture
def visitors(tmp_path: Path) -> Iterator[Visitors]:
    found = Visitors(tmp_path)
    yield found
    found.database.close()


def decided(item: str, decision: str = "accept", **changes: object) -> dict[str, Any]:
    answers: dict[str, Any] = dict.fromkeys(SCALES, 4) | {"decision": decision}
    if decision == "reject":
        answers["reason"] = "category"
    event = {"id": uuid.uuid4().hex, "kind": "decision", "item": item, "protocol": PROTOCOL.key, "made_at": now()}
    return event | {"answers": answers} | changes


def test_a_link_works_once_and_looking_does_not_use_it(visitors: Visitors) -> None:
    secret = visitors.database.invite("cyd", "reviewer")
    browser = visitors.client()
    for _ in range(2):
        assert "Begin" in browser.get(f"/join/{secret}").text
    response = browser.post(f"/join/{secret}", follow_redirects=False)
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert browser.post(f"/join/{secret}").status_code == 404
    assert visitors.client().get(f"/join/{secret}").status_code == 404
    assert secret.encode() not in visitors.database.path.read_bytes()


def test_strangers_see_nothing(visitors: Visitors) -> None:
    stranger = visitors.client()
    for address in (
        "/",
        "/guidelines",
        "/owner",
        "/decisions",
        "/api/queue",
        "/api/last",
        f"/item/{visitors.items[0]}/text",
    ):
        response = stranger.get(address)
        assert response.status_code in {401, 403, 404}
        assert "b = " not in response.text


def test_every_response_has_the_headers_of_protection(visitors: Visitors) -> None:
    for address in ("/", "/none-such", "/assets/review.css"):
        headers = visitors.by_name["ann"].get(address).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert headers["cache-control"] == "no-store"


def test_requests_of_other_sites_are_refused(visitors: Visitors) -> None:
    ann = visitors.by_name["ann"]
    event = decided(visitors.items[0], person="ann")
    for headers in ({"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        assert ann.post("/api/events", json=[event], headers=headers).status_code == 403
    assert ann.get("/", headers={"host": "evil.example"}).status_code == 421
    assert ann.get("/", headers={"host": "[::1"}).status_code == 400
    assert ann.post("/decide", headers={"origin": "http://["}).status_code == 400
    assert ann.post("/api/events", content=b"x" * 4_000_001).status_code == 413
    assert list(visitors.database.events()) == []


def test_a_proxy_with_tls_stands_before_the_server(visitors: Visitors) -> None:
    """The proxy passes the public name or its own as the host; the browser's origin is the public address."""
    app = review_application(
        {"mine": visitors.database}, {"127.0.0.1"}, ReviewServerSettings(public_url="https://Review.example:8443/")
    )
    secret = visitors.database.invite("ann", "reviewer")
    origin = {"origin": "https://review.example:8443", "sec-fetch-site": "same-origin"}
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        joined = client.post(f"/join/{secret}", headers=origin, follow_redirects=False)
        assert joined.status_code == 303
        assert "Secure" in joined.headers["set-cookie"]
        cookie = {"cookie": joined.headers["set-cookie"].split(";")[0]}
        for host in ("review.example:8443", "review.example", "127.0.0.1:8765"):
            event = decided(visitors.items[0], person="ann")
            sent = client.post("/api/events", json=[event], headers=cookie | origin | {"host": host})
            assert sent.json()["results"][0]["status"] == "stored"
        # nginx's $host has no port, and a machine has several addresses.
        event = decided(visitors.items[0], person="ann")
        by_address = {"origin": "https://127.0.0.1:8443", "sec-fetch-site": "same-origin", "host": "127.0.0.1"}
        assert client.post("/api/events", json=[event], headers=cookie | by_address).status_code == 200
        for refused in ("https://evil.example", "http://review.example:8443", "https://review.example"):
            headers = cookie | {"origin": refused, "host": "127.0.0.1:8765"}
            assert client.post("/api/events", json=[], headers=headers).status_code == 403
        assert client.get("/", headers=cookie | {"host": "evil.example"}).status_code == 421
    plain = visitors.client().post(f"/join/{visitors.database.invite('bob', 'reviewer')}", follow_redirects=False)
    assert "Secure" not in plain.headers["set-cookie"]


@pytest.mark.parametrize(
    "url", ["review.example", "ftp://a.example", "https://a.example/x", "https://a:b", "https://["]
)
def test_a_public_address_is_that_of_a_whole_server(visitors: Visitors, url: str) -> None:
    with pytest.raises(UsageError, match="--public-url"):
        review_application({"mine": visitors.database}, {"testserver"}, ReviewServerSettings(public_url=url))


def test_halves_of_characters_are_answered(visitors: Visitors) -> None:
    body = b'[{"id": "\\ud800", "note": "\\udc00"}, {"\\ud800": 1}]'
    answer = visitors.by_name["ann"].post("/api/events", content=body)
    assert answer.status_code == 200
    assert [one["status"] for one in answer.json()["results"]] == ["refused", "refused"]


def test_a_decision_is_stored_once(visitors: Visitors) -> None:
    event = decided(visitors.items[0])
    first, second = visitors.send("ann", event).json(), visitors.send("ann", event).json()
    assert [answer["results"][0]["status"] for answer in (first, second)] == ["stored", "known"]
    [(_, stored)] = visitors.database.events()
    assert (stored.person, stored.id) == ("ann", event["id"])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"answers": {}}, "usefulness has no answer"),
        ({"answers": dict.fromkeys(SCALES, 6) | {"decision": "accept"}}, "usefulness: 6 is no answer"),
        ({"answers": dict.fromkeys(SCALES, 4) | {"decision": "maybe"}}, "decision: 'maybe' is no answer"),
        ({"item": "none"}, "there is no item none"),
        ({"protocol": "devbench-instance@9"}, "load the page again"),
        ({"kind": "send_back", "answers": {}}, "only the adjudicator"),
        ({"person": "bob"}, "This page is bob's, and this browser is now ann's"),
        ({"made_at": "yesterday"}, "made_at"),
        ({"id": "1"}, "id"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_reason(visitors: Visitors, changes: dict[str, Any], reason: str) -> None:
    [result] = visitors.send("ann", decided(visitors.items[0]) | changes).json()["results"]
    assert result["status"] == "refused"
    assert reason in result["reason"]
    assert list(visitors.database.events()) == []


def test_a_reason_of_ones_own_needs_a_note(visitors: Visitors) -> None:
    event = decided(visitors.items[0], "reject")
    event["answers"]["reason"] = "other"
    assert "needs a note" in visitors.send("ann", event).json()["results"][0]["reason"]
    assert visitors.send("ann", event | {"note": "half \ud800 a character"}).json()["results"][0]["status"] == "stored"


def test_a_clock_that_is_fast_does_not_decide_the_future(visitors: Visitors) -> None:
    visitors.send("ann", decided(visitors.items[0], made_at="2999-01-01T00:00:00Z"))
    [(_, stored)] = visitors.database.events()
    assert stored.made_at == "2999-01-01T00:00:00.000000Z"
    assert stored.moment <= stored.received_at


def shifted(hours: float) -> str:
    """The time by a clock that is fast or slow."""
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("hours", [-1.0, 1.0, -24.0 * 365])
def test_a_wrong_clock_decides_a_reopened_item(visitors: Visitors, hours: float) -> None:
    """With a clock that is an hour slow, each new decision was older than the reopening, and the item came back."""
    item = visitors.by_name["ann"].get("/api/queue").json()["entries"][0]["item"]

    def send(decision: str, made: str) -> None:
        event = decided(item, decision, made_at=made, person="ann")
        sent = visitors.by_name["ann"].post("/api/events", json=[event], params={"sent_at": shifted(hours)})
        assert sent.json()["results"][0]["status"] == "stored"

    send("accept", shifted(hours))
    offline = shifted(hours)
    time.sleep(1)  # the offset is known up to the time that a request takes
    state = ReviewState(visitors.database)
    reopen_items(state, [item])
    # What was decided before the reopening and arrives after it is about the old item.
    send("accept", offline)
    state.refresh()
    assert state.decisions(item) == {}
    send("reject", shifted(hours))
    state.refresh()
    assert [event.answers["decision"] for event in state.decisions(item).values()] == ["reject"]
    [first, *_] = [event for _, event in visitors.database.events()]
    assert abs(float(first.offset_s or 0) + hours * 3600) < 60


def test_the_owner_reads_what_everybody_said(visitors: Visitors) -> None:
    first, second, _ = visitors.items
    visitors.send("ann", decided(first))
    visitors.send("ann", decided(second, note="<b>odd</b>"))
    visitors.send("bob", decided(second, "reject", note="too odd"))
    visitors.send("eve", decided(second, kind="send_back", answers={}, note="how odd?"))
    page = visitors.by_name["owner"].get("/owner").text
    table = page[page.index("Decided items") :]
    assert table.index(second) < table.index(first)
    for said in (
        "4, 4, 4, 4, reject, category",
        "ann: &lt;b&gt;odd&lt;/b&gt;; bob: too odd; eve: how odd?",
        "<td>disputed</td>",
    ):
        assert said in table
    for name in ("ann", "eve"):
        assert "too odd" not in visitors.by_name[name].get("/owner").text


def test_own_decisions_are_listed_and_those_that_are_settled_stay(visitors: Visitors) -> None:
    first, second = visitors.items[:2]
    for name, item, decision in (("ann", first, "accept"), ("bob", first, "reject"), ("eve", first, "reject"),
                                 ("ann", second, "accept")):  # fmt: skip
        visitors.send(name, decided(item, decision, note=f"of {name}"))
    page = visitors.by_name["ann"].get("/decisions").text
    assert page.count("<td>of ann</td>") == 2
    assert "of bob" not in page
    assert page.count("settled by the adjudicator") == 1
    form = {"person": "ann", "id": uuid.uuid4().hex, "item": second, "repeat": "0", "action": "back"}
    back = visitors.by_name["ann"].post("/decide", data=form)
    assert f'data-item="{second}"' in back.text
    assert visitors.by_name["ann"].get("/decisions").text.count("<td>of ann</td>") == 1
    refused = visitors.by_name["ann"].post("/decide", data=form | {"id": uuid.uuid4().hex, "item": first})
    assert (refused.status_code, "settled" in refused.text) == (422, True)


def test_a_time_that_cannot_be_is_that_of_arrival(visitors: Visitors) -> None:
    """A clock that is set back between two events puts none before the other."""
    ann = visitors.by_name["ann"]
    item = visitors.items[0]
    events = [
        decided(item, person="ann", made_at=shifted(-0.1)),
        decided(item, person="ann", kind="withdrawal", answers={}, made_at=shifted(-0.2)),
        decided(item, person="ann", made_at="0001-01-01T00:00:00Z"),
    ]
    assert ann.post("/api/events", json=events, params={"sent_at": shifted(-0.05)}).status_code == 200
    assert ann.post("/api/events", json=[decided(item, person="ann")], params={"sent_at": "soon"}).status_code == 200
    stored = [event for _, event in visitors.database.events()]
    assert sorted(stored, key=lambda event: event.order) == stored
    assert [event.moment == event.received_at for event in stored] == [True, True, True, True]


def test_a_withdrawal_after_the_adjudication_is_refused(visitors: Visitors) -> None:
    item = visitors.items[0]
    for name, decision in (("ann", "accept"), ("bob", "reject"), ("eve", "reject")):
        visitors.send(name, decided(item, decision))
    [result] = visitors.send("ann", decided(item, kind="withdrawal", answers={})).json()["results"]
    assert result["status"] == "refused"
    assert "the adjudicator has settled this item" in result["reason"]


def test_the_owner_sees_who_has_joined(visitors: Visitors) -> None:
    visitors.database.invite("cyd", "reviewer")
    page = visitors.by_name["owner"].get("/owner").text
    assert "<td>ann</td><td>reviewer</td><td>yes</td>" in page
    assert "<td>cyd</td><td>reviewer</td><td>no</td>" in page


def test_a_full_disk_is_said_and_nothing_is_stored(visitors: Visitors, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> list[bool]:
        raise OSError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(visitors.database, "add_events", full)
        response = visitors.send("ann", decided(visitors.items[0]))
    assert response.status_code == 507
    assert "is full" in response.json()["error"]
    assert visitors.by_name["ann"].get("/api/queue").json()["done"] == 0


def test_the_form_works_without_scripts(visitors: Visitors) -> None:
    ann = visitors.by_name["ann"]
    item = visitors.by_name["ann"].get("/api/queue").json()["entries"][0]["item"]
    form = {f"q-{name}": "3" for name in SCALES} | {
        "item": item,
        "repeat": "0",
        "id": uuid.uuid4().hex,
        "action": "decide",
        "person": "ann",
    }
    refused = ann.post("/decide", data=form)
    assert refused.status_code == 422
    assert "decision has no answer" in refused.text
    assert 'value="3" data-key="3" checked' in refused.text
    accepted = ann.post("/decide", data=form | {"q-decision": "accept", "q-reason": "category"}, follow_redirects=False)
    assert accepted.status_code == 303
    [(_, event)] = visitors.database.events()
    assert event.answers["decision"] == "accept"
    assert "reason" not in event.answers
    ann.post("/decide", data={"id": uuid.uuid4().hex, "action": "undo", "person": "ann"})
    assert [event.kind for _, event in visitors.database.events()] == ["decision", "withdrawal"]


def test_the_adjudicator_sees_both_without_names_and_may_ask_them_again(visitors: Visitors) -> None:
    item = visitors.items[0]
    visitors.send("ann", decided(item, note="ann thinks so"))
    assert visitors.by_name["eve"].get("/api/queue").json()["entries"] == []
    visitors.send("bob", decided(item, "reject", note="bob does not"))
    [entry] = visitors.by_name["eve"].get("/api/queue").json()["entries"]
    assert "ann thinks so" in entry["html"]
    assert "bob does not" in entry["html"]
    for name in ("ann", "bob"):
        assert f">{name}<" not in entry["html"]
    rows = re.findall(
        r'<tr( class="differs")?><th scope="row">(\d)[^<]*</th><td>([^<]*)</td><td>([^<]*)</td>', entry["html"]
    )
    assert [row[1] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert {row[2:] for row in rows if not row[0]} == {("4", "4")}
    assert next(set(row[2:]) for row in rows if row[0]) == {"Accept", "Reject"}
    back = decided(item, kind="send_back", answers={}, note="look at line 2")
    assert visitors.send("eve", back).json()["results"][0]["status"] == "stored"
    assert visitors.by_name["eve"].get("/api/queue").json()["entries"] == []
    returned = visitors.by_name["ann"].get("/api/queue").json()["entries"][0]
    assert returned["item"] == item
    assert "look at line 2" in returned["html"]
    assert "bob does not" not in returned["html"]


def test_nobody_sees_what_is_hidden_before_items_are_settled(visitors: Visitors) -> None:
    """Marks in votes, notes, authors and scores occur in no byte for a role that may not see them."""
    for item in visitors.items:
        visitors.send("ann", decided(item, note="planted-note-of-ann"))
    addresses = [
        "/",
        "/guidelines",
        "/owner",
        "/decisions",
        "/api/queue",
        "/api/last",
        "/assets/review.js",
        "/none-such",
    ]
    addresses += [f"/api/entry/{item}" for item in visitors.items] + [f"/item/{item}/text" for item in visitors.items]
    addresses += [f"/api/entry/{item}?repeat=1" for item in visitors.items]
    allowed = {"ann": {"planted-note-of-ann"}, "bob": set(), "eve": set()}
    for name, own in allowed.items():
        for address in addresses:
            body = visitors.by_name[name].get(address)
            text = body.text + str(body.headers)
            assert [mark for mark in PLANTED if mark in text and mark not in own] == [], (name, address)
    votes = [event.id for _, event in visitors.database.events()]
    everything = "".join(visitors.by_name["bob"].get(address).text for address in addresses)
    assert not any(vote in everything for vote in votes)


def test_a_page_of_another_person_gets_and_stores_nothing(visitors: Visitors) -> None:
    """A lead tries both links in one browser: the page of the first one is still open."""
    bob = visitors.by_name["bob"]
    event = decided(visitors.items[0], person="ann")
    for answer in (
        bob.post("/api/events?person=ann", json=[event]),
        bob.get("/api/queue?person=ann"),
        bob.get("/api/last?person=ann"),
        bob.post("/decide", data={"person": "ann", "id": uuid.uuid4().hex, "action": "undo"}),
    ):
        assert answer.status_code == 409
        assert "now bob" in answer.text
    [result] = bob.post("/api/events", json=[event]).json()["results"]
    assert result["status"] == "refused"
    assert list(visitors.database.events()) == []
    secret = visitors.database.invite("cyd", "reviewer")
    assert "bob" in bob.get(f"/join/{secret}").text


def test_a_warm_up_item_is_explained_after_the_decision(tmp_path: Path) -> None:
    hidden = HiddenItem(control="empty", expect={"decision": ("reject",)}, explanation="it was empty")
    item = made_item(1, hidden=hidden).model_copy(update={"kind": "warm_up"})
    secrets = make_review(tmp_path, [item, made_item(2)], PEOPLE)
    with ReviewDatabase(tmp_path / DATABASE_NAME) as database:
        client = TestClient(review_application({"mine": database}, {"testserver"}), base_url="http://testserver")
        client.post(f"/join/{secrets['ann']}")
        first = client.get("/api/queue").json()["entries"][0]
        assert first["item"] == item.id
        assert "it was empty" not in client.get("/").text + first["html"]
        answer = client.post("/api/events", json=[decided(item.id, person="ann")]).json()
        assert answer["warm_up"] == [{"item": item.id, "right": False, "explanation": "it was empty"}]


# --- several reviews, and the accounts of a proxy ---


def proxied(databases: dict[str, ReviewDatabase], client: str = "10.0.0.7") -> TestClient:
    settings = ReviewServerSettings(accounts=Accounts("X-User", "lea"), proxies=(ip_network("10.0.0.0/24"),))
    app = review_application(databases, {"testserver"}, settings)
    return TestClient(app, base_url="http://testserver", client=(client, 50000))


def test_a_proxy_names_the_person(visitors: Visitors) -> None:
    client = proxied({"mine": visitors.database})
    assert client.get("/").status_code == 401
    visitors.database.invite("zoe@example.org", "reviewer")
    assert "zoe@example.org" in client.get("/", headers={"X-User": "zoe@example.org"}).text
    joined = {person.name: person.joined for person in visitors.database.people()}
    assert joined["zoe@example.org"], "who comes by the proxy has joined, and the link has ended"
    queue = client.get("/api/queue?person=zoe@example.org", headers={"X-User": "zoe@example.org"}).json()
    event = decided(queue["entries"][0]["item"], person="zoe@example.org")
    body = json.dumps([event])
    sent = client.post("/api/events", headers={"x-user": "zoe@example.org"}, content=body).json()
    assert [one["status"] for one in sent["results"]] == ["stored"]
    assert client.get("/owner", headers={"X-User": "lea"}).status_code == 200


@pytest.mark.parametrize("name", ["nobody", "owner", " ", "ann\xff"])
def test_who_is_not_invited_stays_out(visitors: Visitors, name: str) -> None:
    client = proxied({"mine": visitors.database})
    headers = {"X-User": name.encode("latin-1")}
    assert client.get("/", headers=headers).status_code in {401, 403}
    assert client.get("/owner", headers=headers).status_code == 403
    assert client.get("/api/queue", headers=headers).status_code == 401


def test_a_header_of_others_is_removed(visitors: Visitors) -> None:
    for client in ("127.0.0.1", "10.0.1.7", "::ffff:10.0.1.7", "fe80::1%eth0"):
        stranger = proxied({"mine": visitors.database}, client)
        assert stranger.get("/", headers={"X-User": "ann"}).status_code == 401
        assert stranger.get("/owner", headers={"X-User": "lea", "X-Forwarded-For": "10.0.0.7"}).status_code == 403
    assert (
        proxied({"mine": visitors.database}, "::ffff:10.0.0.7").get("/", headers={"X-User": "ann"}).status_code == 200
    )
    two = [("X-User", "bob"), ("X-User", "ann")]
    assert proxied({"mine": visitors.database}).get("/", headers=two).status_code == 400


def test_one_server_has_several_reviews(visitors: Visitors, tmp_path: Path) -> None:
    secrets = make_review(tmp_path / "other", [made_item(7)], {"ann": "reviewer", "dan": "reviewer"})
    with ReviewDatabase(tmp_path / "other" / DATABASE_NAME) as other:
        reviews = {"mine": visitors.database, "other one": other}
        app = review_application(reviews, {"testserver"})
        dan = TestClient(app, base_url="http://testserver")
        assert dan.get("/").status_code == 401
        assert dan.get("/join/unknown").status_code == 404
        page = dan.get(f"/join/{secrets['dan']}")
        assert page.url.raw_path.decode() == f"/other%20one/join/{secrets['dan']}"
        joined = dan.post(str(page.url))
        assert (joined.status_code, joined.url.raw_path) == (200, b"/other%20one/")
        assert 'action="/other%20one/decide"' in joined.text
        links = re.findall(r'href="([^"]+/)"', dan.get("/").text)
        assert links == ["/other%20one/"], "reviews of others are not listed"
        assert dan.get("/mine/").status_code == 401
        queue = dan.get("/other%20one/api/queue?person=dan").json()
        sent = dan.post(
            "/other%20one/api/events", content=json.dumps([decided(queue["entries"][0]["item"], person="dan")])
        )
        assert sent.json()["results"][0]["status"] == "stored"
        both = proxied(reviews)
        assert len(re.findall(r"<li>", both.get("/", headers={"X-User": "ann"}).text)) == 2
        for name in ("review.js", "review.css"):
            assert dan.get(f"/assets/{name}").status_code == 200
