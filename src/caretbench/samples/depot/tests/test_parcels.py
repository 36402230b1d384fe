import unittest

from parcels import LabelError, box_volume, parse_label, price_of, read_labels, smallest_box


class LabelTest(unittest.TestCase):
    def test_a_label(self):
        self.assertEqual(parse_label(" de-1207:M*3\n"), ("DE", 1207, "M", 3))
        self.assertEqual(parse_label("FR-8:S"), ("FR", 8, "S", 1))

    def test_wrong_labels(self):
        for text, reason in [
            ("DE-1", "no box"), ("DEU-1:S", "no country"), ("1:S", "no country"), ("DE-x:S", "no number"),
            ("DE-1:S*x", "no number"), ("DE-1:X", "unknown box"),
        ]:
            with self.assertRaisesRegex(LabelError, reason):
                parse_label(text)

    def test_lines(self):
        labels, wrong = read_labels(["# head", "DE-1:S", "", "what", "FR-2:L*2"])
        self.assertEqual(labels, [("DE", 1, "S", 1), ("FR", 2, "L", 2)])
        self.assertEqual(wrong, [4])


class BoxTest(unittest.TestCase):
    def test_volume(self):
        self.assertEqual([box_volume(box) for box in "SML"], [6, 24, 96])

    def test_smallest(self):
        self.assertEqual(smallest_box((10, 10, 10)), "S")
        self.assertEqual(smallest_box((15, 15, 15)), "M")
        self.assertEqual(smallest_box((5, 60, 30)), "L")
        self.assertIsNone(smallest_box((100, 1, 1)))

    def test_price(self):
        self.assertEqual(price_of("S"), 390)
        self.assertEqual(price_of("M", 2), 1200)
        self.assertEqual(price_of("M", 5), 2850)
        self.assertEqual(price_of("L", 10), 21600)
        self.assertEqual(price_of("S", express=True), 890)
