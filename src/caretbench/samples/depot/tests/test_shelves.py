import unittest

from shelves import Shelf, counts, invoice, load_vans, merge_routes

LABELS = [("DE", 1, "S", 2), ("FR", 2, "M", 1), ("DE", 3, "S", 5)]


class ShelfTest(unittest.TestCase):
    def test_room(self):
        shelf = Shelf(40)
        self.assertEqual(shelf.put("M"), 1)
        self.assertEqual(shelf.free(), 16)
        self.assertEqual(shelf.put("S", 5), 2)
        self.assertEqual(shelf.free(), 4)

    def test_taking(self):
        shelf = Shelf(20)
        shelf.put("S", 2)
        self.assertTrue(shelf.take("S"))
        self.assertFalse(shelf.take("M"))
        self.assertEqual(shelf.free(), 14)


class VanTest(unittest.TestCase):
    def test_counts(self):
        self.assertEqual(counts(LABELS), {("DE", "S"): 7, ("FR", "M"): 1})

    def test_vans(self):
        self.assertEqual(load_vans(LABELS, 36), [[1, 2], [3]])
        self.assertEqual(load_vans(LABELS, 30), [[1], [2], [3]])
        with self.assertRaisesRegex(ValueError, "label 3 fits into no van"):
            load_vans(LABELS, 24)
        self.assertEqual(load_vans([], 1), [])

    def test_invoice(self):
        lines, total = invoice(LABELS, express={2})
        self.assertEqual(lines, ["DE-1 2 x S: 7.80", "FR-2 1 x M: 13.50", "DE-3 5 x S: 18.53"])
        self.assertEqual(total, 780 + 1350 + 1853)

    def test_routes(self):
        self.assertEqual(merge_routes([[1, 2], [3], [2, 4], [4, 5]]), [[1, 2, 4, 5], [3]])
        self.assertEqual(merge_routes([]), [])
