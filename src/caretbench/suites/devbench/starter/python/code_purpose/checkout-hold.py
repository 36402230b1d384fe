from collections import defaultdict
from contextlib import contextmanager


class OutOfStock(Exception):
    def __init__(self, sku, wanted, available):
        super().__init__(f"{sku}: wanted {wanted}, available {available}")
        self.sku = sku


class Ledger:
    """What lies on the shelves, and what of it is already promised to an order."""

    def __init__(self, on_hand):
        self._on_hand = dict(on_hand)
        self._reserved = defaultdict(dict)
        self.shipped = []

    def available(self, sku):
        promised = sum(lines.get(sku, 0) for lines in self._reserved.values())
        return self._on_hand.get(sku, 0) - promised

    def reserve(self, order_id, sku, quantity):
        if quantity > self.available(sku):
            raise OutOfStock(sku, quantity, self.available(sku))
        lines = self._reserved[order_id]
        lines[sku] = lines.get(sku, 0) + quantity

    def release(self, order_id):
        """Give back all that the order had reserved."""
        self._reserved.pop(order_id, None)

    def ship(self, order_id):
        """Take what the order had reserved from the shelves for good."""
        for sku, quantity in self._reserved.pop(order_id, {}).items():
            self._on_hand[sku] -= quantity
        self.shipped.append(order_id)

    @contextmanager
    def checkout(self, order_id, lines):
        """Hold all lines (sku, quantity) of an order while its payment runs in the block.

        A paid order is shipped; if anything goes wrong, the goods are free again for others.
        """
⟦        try:
            for sku, quantity in lines:
                self.reserve(order_id, sku, quantity)
            yield order_id
        except BaseException:
            self.release(order_id)
            raise
        self.ship(order_id)
⟧

def place_order(ledger, order_id, lines, pay):
    with ledger.checkout(order_id, lines):
        pay(order_id)
⟦tests⟧
class CardDeclined(Exception):
    pass


def declined(order_id):
    raise CardDeclined(order_id)


seen = []


def paid(order_id):
    # While the payment runs, the goods are promised but still on the shelf.
    seen.append((order_id, ledger.available("lamp"), list(ledger.shipped)))


ledger = Ledger({"lamp": 5, "cable": 2})
place_order(ledger, "A-1", [("lamp", 2), ("cable", 1)], paid)
assert seen == [("A-1", 3, [])]
assert ledger.shipped == ["A-1"]
assert ledger.available("lamp") == 3 and ledger.available("cable") == 1
assert ledger._on_hand == {"lamp": 3, "cable": 1}

try:
    place_order(ledger, "A-2", [("lamp", 3)], declined)
except CardDeclined as error:
    assert error.args == ("A-2",)
else:
    raise AssertionError("the declined payment was swallowed")
assert ledger.available("lamp") == 3
assert ledger.shipped == ["A-1"]

# The second line cannot be had: the first is given back too, and nobody is asked to pay.
try:
    place_order(ledger, "A-3", [("lamp", 1), ("cable", 2)], paid)
except OutOfStock as error:
    assert error.sku == "cable"
else:
    raise AssertionError("more was sold than there is")
assert len(seen) == 1
assert ledger.available("lamp") == 3 and ledger.available("cable") == 1
assert ledger.shipped == ["A-1"]

place_order(ledger, "A-4", [("lamp", 1), ("lamp", 2)], paid)
assert ledger.available("lamp") == 0
assert ledger.shipped == ["A-1", "A-4"]
