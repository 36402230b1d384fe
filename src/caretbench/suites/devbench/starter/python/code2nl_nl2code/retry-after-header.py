"""Being polite to a server that asks us to come back later."""

from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

MAXIMUM_WAIT = 600.0
RETRY_STATUSES = frozenset({429, 503})


def should_retry(status: int, attempt: int, attempts: int) -> bool:
    return status in RETRY_STATUSES and attempt < attempts


def seconds_to_wait(header: str | None, now: datetime) -> float | None:
    """How long to wait before the next attempt, from the value of a Retry-After header.

    The header holds either a whole number of seconds ("120") or an HTTP date
    ("Wed, 21 Oct 2015 07:28:00 GMT"); blanks around it do not matter. A date that has passed means no
    wait at all. However long the server asks us to wait, it is never more than MAXIMUM_WAIT.

    Args:
        header: The value of the header, None where the server sent none.
        now: The current time, with its time zone.

    Returns:
        Seconds from 0 to MAXIMUM_WAIT, or None where there is no header or it makes no sense
        (then the caller falls back to its own schedule).
    """
⟦    if header is None:
        return None
    header = header.strip()
    if header.isdecimal():
        return min(float(header), MAXIMUM_WAIT)
    try:
        moment = parsedate_to_datetime(header)
    except (TypeError, ValueError):
        return None
    return min(max((moment - now).total_seconds(), 0.0), MAXIMUM_WAIT)⟧
⟦tests⟧
noon = datetime(2015, 10, 21, 7, 27, 30, tzinfo=timezone.utc)
assert seconds_to_wait("120", noon) == 120
assert seconds_to_wait("  45 ", noon) == 45
assert seconds_to_wait("0", noon) == 0
assert seconds_to_wait("86400", noon) == MAXIMUM_WAIT
assert seconds_to_wait("Wed, 21 Oct 2015 07:28:00 GMT", noon) == 30
assert seconds_to_wait(" Wed, 21 Oct 2015 07:28:10 GMT ", noon) == 40
assert seconds_to_wait("Wed, 21 Oct 2015 07:27:00 GMT", noon) == 0
assert seconds_to_wait("Fri, 23 Oct 2015 07:28:00 GMT", noon) == MAXIMUM_WAIT
for nonsense in (None, "", "soon", "12.5", "tomorrow at noon"):
    assert seconds_to_wait(nonsense, noon) is None, nonsense
