import unittest

from wayfarer.addresses import Directory, edits, normal, run_lengths, shortened, similarity
from wayfarer.tariff import FormulaError, names, price, tokens


class EditTest(unittest.TestCase):
    def test_edits(self):
        for one, other, count in [
            ("kitten", "sitting", 3), ("", "abc", 3), ("abc", "", 3), ("same", "same", 0), ("ab", "ba", 1),
            ("street", "steret", 1), ("abcd", "acbd", 1), ("flaw", "lawn", 2),
        ]:  # fmt: skip
            self.assertEqual(edits(one, other), count, (one, other))
            self.assertEqual(edits(other, one), count, (one, other))

    def test_normal(self):
        self.assertEqual(normal("  Mill Str. 12,  "), "mill street 12")
        self.assertEqual(normal("- Hill-Top -"), "hilltop")


class DirectoryTest(unittest.TestCase):
    def setUp(self):
        self.known = Directory(["Mill Street 1", "Mill Street 12", "Mile End 3", "Hill Street 1"])

    def test_add(self):
        self.assertFalse(self.known.add("mill str. 1"))
        self.assertTrue(self.known.add("Mill Street 2"))

    def test_beginning(self):
        self.assertEqual(self.known.beginning("mil"), ["Mile End 3", "Mill Street 1", "Mill Street 12"])
        self.assertEqual(self.known.beginning("mil", most=1), ["Mile End 3"])
        self.assertEqual(self.known.beginning("mill street 1"), ["Mill Street 1", "Mill Street 12"])
        self.assertEqual(self.known.beginning("x"), [])

    def test_meant(self):
        self.assertEqual(self.known.meant("Mil Street 12"), "Mill Street 12")
        self.assertEqual(self.known.meant("Hil Sreet 1"), "Hill Street 1")
        self.assertIsNone(self.known.meant("Station Road"))
        self.assertIsNone(self.known.meant("Mil Sreet", tolerance=1))


class TextTest(unittest.TestCase):
    def test_similarity(self):
        self.assertEqual(similarity("night", "nacht"), 0.25)
        self.assertEqual(similarity("Mill St", "mill street"), 1.0)
        self.assertEqual(similarity("", ""), 1.0)
        self.assertEqual(similarity("a", "b"), 0.0)

    def test_shortened(self):
        self.assertEqual(shortened("one two three four", 9), ["one two", "three", "four"])
        self.assertEqual(shortened("extraordinary it is", 5), ["extraordinary", "it is"])
        self.assertEqual(shortened("  ", 5), [])

    def test_run_lengths(self):
        self.assertEqual(run_lengths("aaabccdddd"), "3ab2c4d")
        self.assertEqual(run_lengths(""), "")


class TariffTest(unittest.TestCase):
    def test_order_of_operations(self):
        for formula, value in [
            ("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("2 ^ 3 ^ 2", 512), ("-2 ^ 2", -4), ("8 - 3 - 2", 3),
            ("12 / 4 / 3", 1), ("2 * -3", -6), ("1 < 2", 1), ("3 <= 2 == 0", 1), ("1 != 1", 0), ("2 >= 2", 1),
            ("5 > 6", 0), ("1.5 + 0.5", 2),
        ]:  # fmt: skip
            self.assertEqual(price(formula), value, formula)

    def test_values_and_functions(self):
        formula = "5 + 0.8*km + (weight > 10) * 2"
        self.assertEqual(price(formula, km=10, weight=12), 15)
        self.assertEqual(price(formula, km=10, weight=10), 13)
        self.assertEqual(price("max(1, min(km, 9), 3)", km=20), 9)
        self.assertEqual(price("round(2.347, 1) + abs(-3)"), 5.3)

    def test_wrong_formulas(self):
        for formula in ("1 +", "(1", "1 2", "* 3", "4 $ 2", "f(1)", "km", "1 / 0", "min(1,", ")", "", "2 ,3"):
            with self.assertRaises(FormulaError, msg=formula):
                price(formula)

    def test_names(self):
        self.assertEqual(names("5 + a*b - max(c, a) ^ -d"), ["a", "b", "c", "d"])
        self.assertEqual(names("3"), [])

    def test_tokens(self):
        expected = [("number", 2.5), ("sign", "*"), ("name", "km"), ("sign", ">="), ("number", 1.0)]
        self.assertEqual(tokens("2.5*km >= 1 "), expected)
