"""The life of a support ticket, told by events as they come from the queue (decoded JSON)."""

from dataclasses import dataclass, field


class Ignored(Exception):
    """An event that does not fit the ticket; the queue drops it and counts it."""


@dataclass
class Ticket:
    status: str = "open"
    owner: str | None = None
    tags: set[str] = field(default_factory=set)
    minutes: int = 0


def apply(ticket, event):
    """Change the ticket as the event says.

    - assign: ``{"type": "assign", "to": name}``; a closed ticket cannot be assigned
    - tag: ``{"type": "tag", "tags": [one or more names]}`` adds them all
    - work: ``{"type": "work", "minutes": whole number}``; counts only if the number is positive
    - close and reopen have no more than their type, and need a ticket that is open or closed respectively

    Any other event, and any that breaks these rules, raises Ignored.
    """
    match event:
        case {"type": "assign", "to": str(name)} if ticket.status == "open":
            ticket.owner = name
⟦        case {"type": "tag", "tags": [_, *_] as tags}:
            ticket.tags.update(tags)
        case {"type": "work", "minutes": int(minutes)} if minutes > 0:
            ticket.minutes += minutes
        case {"type": "close"} if ticket.status == "open":
            ticket.status = "closed"
        case {"type": "reopen"} if ticket.status == "closed":
            ticket.status = "open"
⟧        case {"type": kind}:
            raise Ignored(f"{kind} does not fit a ticket that is {ticket.status}")
        case _:
            raise Ignored("not an event")


def replay(events):
    """The ticket after all events, and the number of those that were ignored."""
    ticket, ignored = Ticket(), 0
    for event in events:
        try:
            apply(ticket, event)
        except Ignored:
            ignored += 1
    return ticket, ignored
⟦tests⟧
ticket, ignored = replay(
    [
        {"type": "assign", "to": "mina"},
        {"type": "tag", "tags": ["billing", "vip"]},
        {"type": "tag", "tags": ["vip", "refund"], "by": "bot"},
        {"type": "work", "minutes": 34},
        {"type": "work", "minutes": 1},
        {"type": "close"},
    ]
)
assert ticket == Ticket("closed", "mina", {"billing", "vip", "refund"}, 35)
assert ignored == 0

bad = [
    {"type": "work", "minutes": 0},
    {"type": "work", "minutes": -5},
    {"type": "work", "minutes": "15"},
    {"type": "work"},
    {"type": "tag", "tags": []},
    {"type": "tag", "tags": "vip"},
    {"type": "reopen"},
    {"type": "merge", "with": 4},
    {"kind": "close"},
    ["close"],
    None,
]
assert replay(bad) == (Ticket(), len(bad))

ticket, ignored = replay([{"type": "close"}, {"type": "close"}, {"type": "assign", "to": "jo"}])
assert (ticket.status, ticket.owner, ignored) == ("closed", None, 2)
ticket, ignored = replay([{"type": "close"}, {"type": "reopen"}, {"type": "assign", "to": "jo"}, {"type": "close"}])
assert (ticket.status, ticket.owner, ignored) == ("closed", "jo", 0)
ticket, ignored = replay([{"type": "close"}, {"type": "work", "minutes": 5}, {"type": "tag", "tags": ["late"]}])
assert (ticket.minutes, ticket.tags, ignored) == (5, {"late"}, 0)
