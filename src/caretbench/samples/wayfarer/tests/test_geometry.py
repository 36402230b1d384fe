import math
import unittest

from wayfarer.figures import Draws
from wayfarer.geometry import (
    NearestPoints,
    Point,
    area,
    convex_hull,
    crossing,
    distance,
    globe_distance,
    inside,
    simplify,
    turn,
)

SQUARE = [Point(0, 0), Point(4, 0), Point(4, 4), Point(0, 4)]


def cloud(count, seed=3, size=50):
    draws = Draws(seed)
    return [Point(draws.below(size), draws.below(size)) for _ in range(count)]


class PlaneTest(unittest.TestCase):
    def test_distance(self):
        self.assertEqual(distance(Point(1, 2), Point(4, 6)), 5)

    def test_turn(self):
        self.assertGreater(turn(Point(0, 0), Point(1, 0), Point(1, 1)), 0)
        self.assertLess(turn(Point(0, 0), Point(1, 0), Point(1, -1)), 0)
        self.assertEqual(turn(Point(0, 0), Point(1, 1), Point(2, 2)), 0)

    def test_globe(self):
        self.assertAlmostEqual(globe_distance(0, 0, 0, 90), 6371 * math.pi / 2, places=6)
        self.assertAlmostEqual(globe_distance(52.52, 13.405, 48.857, 2.352), 878, delta=2)
        self.assertEqual(globe_distance(10, 20, 10, 20), 0)


class HullTest(unittest.TestCase):
    def test_square_with_points_inside_and_on_its_sides(self):
        points = [*SQUARE, Point(2, 2), Point(1, 3), Point(2, 0), Point(4, 2)]
        self.assertEqual(convex_hull(points), SQUARE)

    def test_few_points(self):
        self.assertEqual(convex_hull([Point(1, 1), Point(1, 1)]), [Point(1, 1)])
        self.assertEqual(convex_hull([]), [])

    def test_all_points_are_inside(self):
        points = cloud(60)
        hull = convex_hull(points)
        self.assertTrue(all(inside(point, hull) for point in points))
        self.assertLess(len(hull), 30)

    def test_area(self):
        self.assertEqual(area(SQUARE), 16)
        self.assertEqual(area(list(reversed(SQUARE))), 16)
        self.assertEqual(area([Point(0, 0), Point(4, 0), Point(0, 3)]), 6)


class InsideTest(unittest.TestCase):
    def test_a_shape_with_a_notch(self):
        notched = [Point(0, 0), Point(6, 0), Point(6, 6), Point(3, 2), Point(0, 6)]
        self.assertTrue(inside(Point(1, 3), notched))
        self.assertTrue(inside(Point(5, 3), notched))
        self.assertFalse(inside(Point(3, 4), notched))
        self.assertFalse(inside(Point(7, 1), notched))

    def test_the_border(self):
        self.assertTrue(inside(Point(2, 0), SQUARE))
        self.assertTrue(inside(Point(4, 4), SQUARE))
        self.assertFalse(inside(Point(5, 0), SQUARE))


class CrossingTest(unittest.TestCase):
    def test_crossing(self):
        self.assertEqual(crossing(Point(0, 0), Point(4, 4), Point(0, 4), Point(4, 0)), Point(2, 2))
        self.assertIsNone(crossing(Point(0, 0), Point(1, 1), Point(0, 4), Point(4, 0)))
        self.assertIsNone(crossing(Point(0, 0), Point(4, 0), Point(0, 1), Point(4, 1)))
        self.assertEqual(crossing(Point(0, 0), Point(4, 0), Point(4, 0), Point(4, 3)), Point(4, 0))


class NearestTest(unittest.TestCase):
    def test_nearest_agrees_with_looking_at_all(self):
        points = cloud(80)
        tree = NearestPoints(points)
        for target in cloud(40, seed=11):
            found, away = tree.nearest(target)
            self.assertEqual(away, min(distance(point, target) for point in points))
            self.assertEqual(distance(found, target), away)

    def test_within_agrees_with_looking_at_all(self):
        points = cloud(80)
        tree = NearestPoints(points)
        for target in cloud(20, seed=5):
            for radius in (0, 4, 15):
                near = sorted(point for point in points if distance(point, target) <= radius)
                self.assertEqual(tree.within(target, radius), near)

    def test_nothing(self):
        self.assertIsNone(NearestPoints([]).nearest(Point(0, 0)))
        self.assertEqual(NearestPoints([]).within(Point(0, 0), 9), [])


class SimplifyTest(unittest.TestCase):
    def test_a_straight_line(self):
        self.assertEqual(simplify([Point(x, 0) for x in range(9)], 0.1), [Point(0, 0), Point(8, 0)])

    def test_a_corner_stays(self):
        line = [Point(0, 0), Point(1, 0.05), Point(4, 0), Point(4, 2), Point(4.05, 4)]
        self.assertEqual(simplify(line, 0.2), [Point(0, 0), Point(4, 0), Point(4.05, 4)])

    def test_a_ring_and_short_lines(self):
        ring = [Point(0, 0), Point(3, 0), Point(3, 3), Point(0, 0)]
        self.assertEqual(simplify(ring, 1), [Point(0, 0), Point(3, 0), Point(3, 3), Point(0, 0)])
        self.assertEqual(simplify([Point(1, 1)], 5), [Point(1, 1)])
