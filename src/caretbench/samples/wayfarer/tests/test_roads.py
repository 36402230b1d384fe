import unittest

from wayfarer.heap import IndexedHeap
from wayfarer.roads import (
    DisjointSets,
    NoRoute,
    RoadNetwork,
    cheapest_links,
    order_of_work,
    round_trip,
    tour_length,
)


def town():
    network = RoadNetwork()
    for start, end, length in [("a", "b", 4), ("a", "c", 1), ("c", "b", 2), ("b", "d", 5), ("c", "d", 8)]:
        network.add_road(start, end, length)
    return network


class HeapTest(unittest.TestCase):
    def test_smallest_first(self):
        heap = IndexedHeap()
        for number in [5, 3, 8, 1, 9, 2, 7, 6, 4, 0]:
            heap.push(f"item {number}", number)
        self.assertEqual([heap.pop()[1] for _ in range(10)], list(range(10)))

    def test_an_item_moves_up_and_down(self):
        heap = IndexedHeap()
        for name, priority in [("a", 5), ("b", 6), ("c", 7), ("d", 8), ("e", 9)]:
            heap.push(name, priority)
        heap.push("e", 1)
        heap.push("a", 10)
        self.assertEqual(len(heap), 5)
        self.assertEqual(heap.priority("e"), 1)
        self.assertEqual([heap.pop()[0] for _ in range(5)], ["e", "b", "c", "d", "a"])
        self.assertNotIn("e", heap)

    def test_empty(self):
        with self.assertRaises(IndexError):
            IndexedHeap().pop()


class RoadTest(unittest.TestCase):
    def test_distances(self):
        self.assertEqual(town().distances("a"), {"a": 0, "c": 1, "b": 3, "d": 8})

    def test_a_place_that_is_found_nearer_later(self):
        network = RoadNetwork()
        for start, end, length in [("s", "x", 10), ("s", "y", 1), ("y", "z", 1), ("z", "x", 1), ("x", "t", 1)]:
            network.add_road(start, end, length, one_way=True)
        self.assertEqual(network.distances("s"), {"s": 0, "y": 1, "z": 2, "x": 3, "t": 4})
        self.assertEqual(network.route("s", "t"), (["s", "y", "z", "x", "t"], 4))

    def test_route(self):
        self.assertEqual(town().route("a", "d"), (["a", "c", "b", "d"], 8))
        self.assertEqual(town().route("a", "a"), (["a"], 0))

    def test_route_with_a_guess(self):
        grid = RoadNetwork()
        for x in range(5):
            for y in range(5):
                if x < 4:
                    grid.add_road((x, y), (x + 1, y), 1)
                if y < 4:
                    grid.add_road((x, y), (x, y + 1), 1)
        asked = []

        def guess(place, goal):
            asked.append(place)
            return abs(place[0] - goal[0]) + abs(place[1] - goal[1])

        way, length = grid.route((0, 0), (4, 0), guess)
        self.assertEqual(length, 4)
        self.assertEqual(way, [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)])
        self.assertLess(len(set(asked)), 15)

    def test_no_route(self):
        network = town()
        network.add_place("island")
        with self.assertRaises(NoRoute):
            network.route("a", "island")
        with self.assertRaises(NoRoute):
            network.route("a", "nowhere")

    def test_the_shorter_of_two_roads_is_kept(self):
        network = RoadNetwork()
        network.add_road("a", "b", 4)
        network.add_road("a", "b", 7)
        network.add_road("a", "b", 3, one_way=True)
        self.assertEqual(network.roads(), [("a", "b", 3), ("b", "a", 4)])
        with self.assertRaises(ValueError):
            network.add_road("a", "b", -1)

    def test_reachable(self):
        network = town()
        network.add_road("x", "a", 1, one_way=True)
        self.assertEqual(network.reachable("a"), ["a", "b", "c", "d"])
        self.assertEqual(network.reachable("x"), ["x", "a", "b", "c", "d"])

    def test_districts(self):
        network = RoadNetwork()
        for start, end in ["ab", "bc", "ca", "cd", "de", "ed", "fg"]:
            network.add_road(start, end, 1, one_way=True)
        self.assertEqual(network.districts(), [["a", "b", "c"], ["d", "e"], ["f"], ["g"]])

    def test_all_distances_agree_with_single_ones(self):
        network = town()
        network.add_road("d", "e", 1, one_way=True)
        table = network.all_distances()
        for start in network.places():
            found = network.distances(start)
            for end in network.places():
                self.assertEqual(table[start, end], found.get(end, float("inf")))


class LinksTest(unittest.TestCase):
    def test_groups(self):
        groups = DisjointSets("abcdef")
        self.assertTrue(groups.join("a", "b"))
        self.assertTrue(groups.join("c", "d"))
        self.assertTrue(groups.join("b", "c"))
        self.assertFalse(groups.join("a", "d"))
        self.assertEqual(groups.find("a"), groups.find("d"))
        self.assertNotEqual(groups.find("a"), groups.find("e"))
        self.assertEqual(groups.count(), 3)

    def test_cheapest_links(self):
        self.assertEqual(cheapest_links(town()), ([("a", "c", 1), ("b", "c", 2), ("b", "d", 5)], 8))

    def test_a_one_way_road_counts_in_both_directions(self):
        network = RoadNetwork()
        network.add_road("a", "b", 9)
        network.add_road("b", "a", 2, one_way=True)
        self.assertEqual(cheapest_links(network), ([("a", "b", 2)], 2))


class OrderTest(unittest.TestCase):
    def test_order(self):
        needs = {"drive": ["load", "fuel"], "load": ["pack"], "rest": ["drive"], "fuel": []}
        self.assertEqual(order_of_work(needs), ["fuel", "pack", "load", "drive", "rest"])

    def test_circle(self):
        with self.assertRaisesRegex(ValueError, "a, b"):
            order_of_work({"a": ["b"], "b": ["a"], "c": []})


class TourTest(unittest.TestCase):
    def test_a_crossing_is_taken_out(self):
        at = {"o": 0, "p": 3, "q": -1, "r": -9}

        def distance(one, other):
            return abs(at[one] - at[other])

        tour = round_trip("o", ["p", "q", "r"], distance)
        self.assertEqual((tour[0], tour[-1], sorted(tour[1:-1])), ("o", "o", ["p", "q", "r"]))
        self.assertEqual(tour_length(tour, distance), 24)

    def test_a_square(self):
        corners = {"a": (0, 0), "b": (10, 0), "c": (10, 10), "d": (0, 10), "e": (5, 1)}

        def distance(one, other):
            (x, y), (u, v) = corners[one], corners[other]
            return ((x - u) ** 2 + (y - v) ** 2) ** 0.5

        tour = round_trip("a", ["b", "c", "d", "e"], distance)
        best = tour_length(["a", "e", "b", "c", "d", "a"], distance)
        self.assertAlmostEqual(tour_length(tour, distance), best)
        self.assertEqual(round_trip("a", [], distance), ["a", "a"])
