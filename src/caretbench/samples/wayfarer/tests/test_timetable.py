import itertools
import unittest

from wayfarer.figures import Draws
from wayfarer.timetable import (
    Calendar,
    Job,
    Window,
    best_jobs,
    busiest,
    clock,
    common,
    drivers_needed,
    gaps,
    merged,
    minutes,
    share_out,
)


def windows(*pairs):
    return [Window(start, end) for start, end in pairs]


class TimeTest(unittest.TestCase):
    def test_minutes(self):
        self.assertEqual(minutes("7:05"), 425)
        self.assertEqual(minutes(" 24:00 "), 1440)
        for wrong in ("7", "25:00", "7:60", "24:01", "7:5", "a:00"):
            with self.assertRaises(ValueError, msg=wrong):
                minutes(wrong)

    def test_clock(self):
        self.assertEqual(clock(425), "7:05")
        self.assertEqual(clock(0), "0:00")


class WindowTest(unittest.TestCase):
    def test_merged(self):
        self.assertEqual(merged(windows((5, 7), (1, 3), (3, 4), (6, 9), (8, 9))), windows((1, 4), (5, 9)))
        self.assertEqual(merged(windows((1, 9), (2, 3))), windows((1, 9)))
        self.assertEqual(merged([]), [])

    def test_common(self):
        one, other = windows((1, 5), (8, 12), (14, 15)), windows((4, 9), (11, 14))
        self.assertEqual(common(one, other), windows((4, 5), (8, 9), (11, 12)))
        self.assertEqual(common(other, one), windows((4, 5), (8, 9), (11, 12)))

    def test_gaps(self):
        day = Window(0, 20)
        self.assertEqual(gaps(windows((3, 5), (4, 8), (12, 14)), day), windows((0, 3), (8, 12), (14, 20)))
        self.assertEqual(gaps(windows((-5, 0), (0, 2), (19, 30), (40, 50)), day), windows((2, 19)))
        self.assertEqual(gaps([], day), [day])

    def test_busiest(self):
        self.assertEqual(busiest(windows((1, 5), (2, 6), (5, 7), (4, 5))), (4, 3))
        self.assertIsNone(busiest([]))


class JobTest(unittest.TestCase):
    def jobs(self, seed):
        draws = Draws(seed)
        made = []
        for number in range(8):
            start = draws.below(30)
            made.append(Job(f"j{number}", start, start + 1 + draws.below(12), 1 + draws.below(9)))
        return made

    def test_best_jobs_agrees_with_trying_all(self):
        for seed in range(6):
            jobs = self.jobs(seed)
            best = 0
            for size in range(9):
                for some in itertools.combinations(sorted(jobs, key=lambda job: job.start), size):
                    if all(one.end <= other.start for one, other in zip(some, some[1:])):
                        best = max(best, sum(job.pay for job in some))
            chosen, pay = best_jobs(jobs)
            self.assertEqual(pay, best)
            self.assertEqual(sum(job.pay for job in chosen), best)
            self.assertTrue(all(one.end <= other.start for one, other in zip(chosen, chosen[1:])))

    def test_drivers(self):
        jobs = [Job("a", 0, 5, 1), Job("b", 1, 3, 1), Job("c", 3, 6, 1), Job("d", 5, 9, 1)]
        self.assertEqual(drivers_needed(jobs), {"a": 0, "b": 1, "c": 1, "d": 0})

    def test_as_few_drivers_as_can_be(self):
        for seed in range(6):
            jobs = self.jobs(seed)
            numbers = drivers_needed(jobs)
            most = busiest([Window(job.start, job.end) for job in jobs])[1]
            self.assertEqual(len(set(numbers.values())), most)
            for one, other in itertools.combinations(jobs, 2):
                if one.start < other.end and other.start < one.end:
                    self.assertNotEqual(numbers[one.name], numbers[other.name])

    def test_share_out(self):
        self.assertEqual(share_out([3, 5, 2, 7, 4], 2), ([[7, 3], [5, 4, 2]], 11))
        self.assertEqual(share_out([], 2), ([[], []], 0))


class CalendarTest(unittest.TestCase):
    def test_book(self):
        calendar = Calendar()
        self.assertTrue(calendar.book(Window(10, 20), "a"))
        self.assertTrue(calendar.book(Window(30, 40), "b"))
        self.assertTrue(calendar.book(Window(20, 30), "c"))
        for window in windows((5, 11), (19, 21), (10, 20), (12, 13), (5, 50), (39, 41)):
            self.assertFalse(calendar.book(window, "x"), window)
        with self.assertRaises(ValueError):
            calendar.book(Window(5, 5), "x")
        self.assertEqual([calendar.at(time) for time in (9, 10, 20, 39, 40)], [None, "a", "c", "b", None])

    def test_first_free(self):
        calendar = Calendar()
        calendar.book(Window(10, 20), "a")
        calendar.book(Window(25, 40), "b")
        day = Window(8, 50)
        self.assertEqual(calendar.first_free(2, day), Window(8, 10))
        self.assertEqual(calendar.first_free(5, day), Window(20, 25))
        self.assertEqual(calendar.first_free(6, day), Window(40, 46))
        self.assertIsNone(calendar.first_free(11, day))
