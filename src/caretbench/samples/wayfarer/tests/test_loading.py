import itertools
import unittest

from wayfarer.figures import Draws
from wayfarer.loading import Parcel, Stock, best_load, change, fill_vans, split_fairly


def parcels(count, seed=1):
    draws = Draws(seed)
    return [Parcel(f"p{n}", 1 + draws.below(9), 1 + draws.below(20)) for n in range(count)]


class LoadTest(unittest.TestCase):
    def test_best_load_agrees_with_trying_all(self):
        for seed in range(5):
            some = parcels(9, seed)
            best = max(
                sum(parcel.value for parcel in load)
                for size in range(10)
                for load in itertools.combinations(some, size)
                if sum(parcel.weight for parcel in load) <= 17
            )
            chosen, value = best_load(some, 17)
            self.assertEqual(value, best)
            self.assertEqual(sum(parcel.value for parcel in chosen), best)
            self.assertLessEqual(sum(parcel.weight for parcel in chosen), 17)
            self.assertEqual(chosen, [parcel for parcel in some if parcel in chosen])

    def test_nothing_fits(self):
        self.assertEqual(best_load([Parcel("a", 5, 9)], 4), ([], 0))

    def test_fill_vans(self):
        some = [Parcel("a", 4, 1), Parcel("b", 7, 1), Parcel("c", 3, 1), Parcel("d", 6, 1)]
        vans = [[parcel.name for parcel in van] for van in fill_vans(some, 10)]
        self.assertEqual(vans, [["b", "c"], ["d", "a"]])
        with self.assertRaises(ValueError):
            fill_vans(some, 6)

    def test_split_fairly(self):
        self.assertEqual(split_fairly([7, 2, 5, 10, 8], 2), 18)
        self.assertEqual(split_fairly([1, 2, 3, 4, 5], 5), 5)
        self.assertEqual(split_fairly([1, 2, 3, 4, 5], 1), 15)
        with self.assertRaises(ValueError):
            split_fairly([], 2)
        with self.assertRaises(ValueError):
            split_fairly([1], 0)

    def test_change(self):
        self.assertEqual(change(63, [1, 10, 21, 25]), [21, 21, 21])
        self.assertEqual(change(0, [5]), [])
        self.assertIsNone(change(3, [2]))
        self.assertEqual(change(8, [5, 2]), [2, 2, 2, 2])


class StockTest(unittest.TestCase):
    def test_reserve_is_all_or_nothing(self):
        stock = Stock({"a": 3, "b": 1})
        self.assertEqual(stock.reserve({"a": 2, "b": 4, "c": 1}), {"b": 3, "c": 1})
        self.assertEqual(stock.free("a"), 3)
        self.assertEqual(stock.reserve({"a": 2, "b": 1}), {})
        self.assertEqual((stock.free("a"), stock.free("b")), (1, 0))

    def test_ship(self):
        stock = Stock({"a": 3})
        stock.reserve({"a": 2})
        with self.assertRaises(ValueError):
            stock.ship("a", 3)
        stock.ship("a", 2)
        self.assertEqual(stock.free("a"), 1)

    def test_receive(self):
        stock = Stock()
        stock.receive("a", 2)
        stock.receive("a", 3)
        self.assertEqual(stock.free("a"), 5)
        with self.assertRaises(ValueError):
            stock.receive("a", 0)

    def test_undo_takes_every_step_back(self):
        stock = Stock({"a": 1})
        stock.receive("a", 4)
        stock.reserve({"a": 3})
        stock.ship("a", 2)
        self.assertEqual(stock.free("a"), 2)
        seen = []
        while stock.undo():
            seen.append(stock.free("a"))
        self.assertEqual(seen, [2, 5, 1])
        stock.reserve({"a": 1})
        with self.assertRaises(ValueError):
            stock.ship("a", 2)

    def test_low(self):
        stock = Stock({"a": 3, "b": 1, "c": 9, "d": 1})
        self.assertEqual(stock.low(4), ["b", "d", "a"])
        stock.reserve({"c": 9})
        self.assertEqual(stock.low(1), ["c"])
