"""Times of day in minutes after midnight: windows, shifts and drivers."""

import heapq
import re
from bisect import bisect_right
from collections import namedtuple

Window = namedtuple("Window", "start end")
Job = namedtuple("Job", "name start end pay")

_TIME = re.compile(r"(\d{1,2}):(\d{2})")


def minutes(text):
    """The minutes after midnight of a time like 7:05.

    Raises ValueError where it is no time of day.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no time")
    hours, rest = int(match[1]), int(match[2])
    if hours > 24 or rest > 59 or (hours == 24 and rest):
        raise ValueError(f"{text!r} is no time of day")
    return 60 * hours + rest


def clock(total):
    """Minutes after midnight as a time."""
    hours, rest = divmod(total, 60)
    return f"{hours}:{rest:02}"


def merged(windows):
    """Windows that touch or overlap made one, in order."""
    result = []
    for window in sorted(windows):
        if result and window.start <= result[-1].end:
            result[-1] = Window(result[-1].start, max(result[-1].end, window.end))
        else:
            result.append(window)
    return result


def common(one, other):
    """When both lists of windows are open."""
    first, second = merged(one), merged(other)
    shared = []
    i = j = 0
    while i < len(first) and j < len(second):
        start = max(first[i].start, second[j].start)
        end = min(first[i].end, second[j].end)
        if start < end:
            shared.append(Window(start, end))
        if first[i].end < second[j].end:
            i += 1
        else:
            j += 1
    return shared


def gaps(windows, day):
    """What is left of a day between windows."""
    free = []
    cursor = day.start
    for window in merged(windows):
        if window.end <= day.start or window.start >= day.end:
            continue
        if window.start > cursor:
            free.append(Window(cursor, window.start))
        cursor = max(cursor, window.end)
    if cursor < day.end:
        free.append(Window(cursor, day.end))
    return free


def busiest(windows):
    """The moment at which the most windows are open, and how many; None where there are none."""
    steps = []
    for window in windows:
        steps.append((window.start, 1))
        steps.append((window.end, -1))
    best = None
    open_now = 0
    for moment, step in sorted(steps):
        open_now += step
        if step > 0 and (best is None or open_now > best[1]):
            best = (moment, open_now)
    return best


def best_jobs(jobs):
    """Jobs of one driver that do not overlap and pay the most, in order, and their pay."""
    ordered = sorted(jobs, key=lambda job: (job.end, job.start, job.name))
    ends = [job.end for job in ordered]
    pay = [0]
    before = []
    for number, job in enumerate(ordered):
        place = bisect_right(ends, job.start, 0, number)
        before.append(place)
        pay.append(max(pay[number], pay[place] + job.pay))
    chosen = []
    number = len(ordered)
    while number > 0:
        if pay[number] == pay[number - 1]:
            number -= 1
        else:
            chosen.append(ordered[number - 1])
            number = before[number - 1]
    chosen.reverse()
    return chosen, pay[-1]


def drivers_needed(jobs):
    """A driver's number for every job by name, so that as few drive as can."""
    numbers = {}
    busy = []
    free = []
    count = 0
    for job in sorted(jobs, key=lambda job: (job.start, job.end, job.name)):
        while busy and busy[0][0] <= job.start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            driver = heapq.heappop(free)
        else:
            driver = count
            count += 1
        numbers[job.name] = driver
        heapq.heappush(busy, (job.end, driver))
    return numbers


def share_out(durations, drivers):
    """Work by driver, the longest first to whoever has least; and the time of the last to finish."""
    loads = [(0, number) for number in range(drivers)]
    shares = [[] for _ in range(drivers)]
    for duration in sorted(durations, reverse=True):
        load, number = heapq.heappop(loads)
        shares[number].append(duration)
        heapq.heappush(loads, (load + duration, number))
    return shares, max(load for load, _ in loads)


class Calendar:
    """Bookings of one ramp; no two at a time."""

    def __init__(self):
        self._starts = []
        self._bookings = []

    def book(self, window, name):
        """Book a window; False where it is taken."""
        if window.start >= window.end:
            raise ValueError("a window ends after its start")
        place = bisect_right(self._starts, window.start)
        if place > 0 and self._bookings[place - 1][0].end > window.start:
            return False
        if place < len(self._bookings) and self._bookings[place][0].start < window.end:
            return False
        self._starts.insert(place, window.start)
        self._bookings.insert(place, (window, name))
        return True

    def at(self, moment):
        """Who has the ramp at a moment, or None."""
        place = bisect_right(self._starts, moment) - 1
        if place < 0:
            return None
        window, name = self._bookings[place]
        return name if moment < window.end else None

    def first_free(self, length, day):
        """The first window of some length that is free on a day, or None."""
        taken = [window for window, _ in self._bookings]
        for gap in gaps(taken, day):
            if gap.end - gap.start >= length:
                return Window(gap.start, gap.start + length)
        return None
