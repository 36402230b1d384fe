"""Loans of a village library: a copy that comes back goes to the reader who has waited longest."""

from collections import deque
from dataclasses import dataclass, field

FREE_DAYS = 28
FEE_PER_DAY = 15
HIGHEST_FEE = 300


class DeskError(Exception):
    """A step that the rules of the library do not allow."""


@dataclass
class Title:
    shelf: int
    borrowed: dict[str, int] = field(default_factory=dict)
    waiting: deque[str] = field(default_factory=deque)
    reserved: set[str] = field(default_factory=set)


class Desk:
    """The desk of the library; days are numbers, fees are cents."""

    def __init__(self, stock):
        self.titles = {name: Title(copies) for name, copies in stock.items()}
        self.fees = {}

    def fee_for(self, days):
        """Return the fee of a loan: nothing for the free days, and never more than the highest fee."""
        return min(max(days - FREE_DAYS, 0) * FEE_PER_DAY, HIGHEST_FEE)

    def charge(self, reader, cents):
        if cents:
            self.fees[reader] = self.fees.get(reader, 0) + cents

    def offer(self, title):
        """Put a copy aside for the first waiting reader who owes nothing; without one it goes to the shelf."""
        for reader in list(title.waiting):
            if not self.fees.get(reader):
                title.waiting.remove(reader)
                title.reserved.add(reader)
                return
        title.shelf += 1

    def borrow(self, name, reader, day):
        title = self.titles[name]
        if self.fees.get(reader):
            raise DeskError(f"{reader} has unpaid fees")
        if reader in title.reserved:
            title.reserved.remove(reader)
        elif title.shelf:
            title.shelf -= 1
        else:
            title.waiting.append(reader)
            return False
        title.borrowed[reader] = day
        return True

    def give_back(self, name, reader, day):
        """Take a copy back, charge what the loan costs, and pass the copy on."""
        title = self.titles[name]
        if reader not in title.borrowed:
            raise DeskError(f"{reader} has no copy of {name}")
⟦        days = day - title.borrowed.pop(reader)
        self.charge(reader, self.fee_for(days))
        self.offer(title)
⟧
⟦tests⟧
desk = Desk({"Atlas": 1, "Herbs": 2})
assert desk.borrow("Atlas", "owl", 0)
assert not desk.borrow("Atlas", "fox", 3)
assert not desk.borrow("Atlas", "hen", 4)
assert desk.borrow("Herbs", "fox", 0)

# Two days too long; the reader who waits first owes nothing yet.
desk.give_back("Atlas", "owl", 30)
assert desk.fees == {"owl": 30}
assert desk.titles["Atlas"].reserved == {"fox"}
assert desk.titles["Atlas"].shelf == 0
assert list(desk.titles["Atlas"].waiting) == ["hen"]

# The last free day costs nothing, and the copy that nobody waits for stands on the shelf again.
desk.give_back("Herbs", "fox", 28)
assert desk.fees == {"owl": 30}
assert desk.titles["Herbs"].shelf == 2
assert desk.titles["Herbs"].borrowed == {}

assert desk.borrow("Atlas", "fox", 40)
try:
    desk.borrow("Herbs", "owl", 41)
except DeskError:
    pass
else:
    raise AssertionError("a reader with fees got a book")
desk.give_back("Atlas", "fox", 400)
assert desk.fees == {"owl": 30, "fox": 300}
assert desk.titles["Atlas"].reserved == {"hen"}
for reader in ("fox", "hen"):
    try:
        desk.give_back("Atlas", reader, 401)
    except DeskError as error:
        assert str(error) == f"{reader} has no copy of Atlas"
    else:
        raise AssertionError("a copy came back twice")
assert desk.titles["Atlas"].reserved == {"hen"} and desk.titles["Atlas"].shelf == 0
