import statistics
import unittest

from wayfarer.figures import (
    Draws,
    Running,
    histogram,
    line_through,
    longest_rise,
    moving_mean,
    quantile,
    solve,
)


class SpreadTest(unittest.TestCase):
    def test_running(self):
        numbers = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]
        running = Running()
        for number in numbers:
            running.add(number)
        self.assertAlmostEqual(running.mean, statistics.mean(numbers))
        self.assertAlmostEqual(running.spread(), statistics.stdev(numbers))
        self.assertEqual((running.count, running.least, running.most), (8, 2.0, 9.0))

    def test_running_of_few(self):
        running = Running()
        self.assertEqual(running.spread(), 0)
        running.add(3)
        self.assertEqual((running.mean, running.spread()), (3, 0))

    def test_quantile(self):
        self.assertEqual(quantile([3, 1, 2], 0.5), 2)
        self.assertEqual(quantile([1, 2, 3, 4], 0.25), 1.75)
        self.assertEqual(quantile([1, 2], 1), 2)
        self.assertEqual(quantile([5], 0), 5)
        for numbers, share in [([], 0.5), ([1], 1.5), ([1], -0.1)]:
            with self.assertRaises(ValueError):
                quantile(numbers, share)

    def test_histogram(self):
        self.assertEqual(histogram([1, 2, 11, 35], 10), [(0, 2), (10, 1), (20, 0), (30, 1)])
        self.assertEqual(histogram([-1, 1], 5), [(-5, 1), (0, 1)])
        self.assertEqual(histogram([], 5), [])


class LineTest(unittest.TestCase):
    def test_line(self):
        slope, height = line_through([(0, 1), (1, 3), (2, 5)])
        self.assertAlmostEqual(slope, 2)
        self.assertAlmostEqual(height, 1)
        slope, height = line_through([(1, 2), (2, 1), (3, 4), (4, 3)])
        self.assertAlmostEqual(slope, 0.6)
        self.assertAlmostEqual(height, 1.0)

    def test_no_line(self):
        with self.assertRaises(ValueError):
            line_through([(1, 1)])
        with self.assertRaises(ValueError):
            line_through([(1, 1), (1, 2)])


class SolveTest(unittest.TestCase):
    def test_solve(self):
        answer = solve([[0, 2, 1], [1, -2, -3], [-1, 1, 2]], [-8, 0, 3])
        for found, wanted in zip(answer, [-4, -5, 2]):
            self.assertAlmostEqual(found, wanted)

    def test_no_single_answer(self):
        with self.assertRaises(ValueError):
            solve([[1, 2], [2, 4]], [1, 2])


class RunTest(unittest.TestCase):
    def test_moving_mean(self):
        self.assertEqual(moving_mean([1, 2, 3, 4, 9], 2), [1.5, 2.5, 3.5, 6.5])
        self.assertEqual(moving_mean([1, 2], 3), [])
        with self.assertRaises(ValueError):
            moving_mean([1], 0)

    def test_longest_rise(self):
        self.assertEqual(longest_rise([10, 9, 2, 5, 3, 7, 101, 18]), [2, 3, 7, 18])
        self.assertEqual(longest_rise([3, 3, 3]), [3])
        self.assertEqual(longest_rise([]), [])


class DrawTest(unittest.TestCase):
    def test_the_same_everywhere(self):
        draws = Draws(42)
        self.assertEqual([draws.below(100) for _ in range(6)], [50, 55, 93, 60, 48, 47])

    def test_shuffled(self):
        things = list(range(20))
        shuffled = Draws(1).shuffled(things)
        self.assertEqual(sorted(shuffled), things)
        self.assertNotEqual(shuffled, things)
        self.assertEqual(things, list(range(20)))
        self.assertEqual(shuffled, Draws(1).shuffled(things))

    def test_pick(self):
        draws = Draws(9)
        picked = [draws.pick({"a": 1, "b": 8, "c": 1}) for _ in range(1000)]
        self.assertEqual(set(picked), {"a", "b", "c"})
        self.assertTrue(720 < picked.count("b") < 880)
