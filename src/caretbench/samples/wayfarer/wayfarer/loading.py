"""What goes into which van."""

from collections import namedtuple

Parcel = namedtuple("Parcel", "name weight value")


def best_load(parcels, capacity):
    """The parcels of the highest value that one van can carry, in their order, and that value."""
    best = [0] * (capacity + 1)
    taken = [[False] * (capacity + 1) for _ in parcels]
    for number, parcel in enumerate(parcels):
        for room in range(capacity, parcel.weight - 1, -1):
            candidate = best[room - parcel.weight] + parcel.value
            if candidate > best[room]:
                best[room] = candidate
                taken[number][room] = True
    room = capacity
    chosen = []
    for number in range(len(parcels) - 1, -1, -1):
        if taken[number][room]:
            chosen.append(parcels[number])
            room -= parcels[number].weight
    chosen.reverse()
    return chosen, best[capacity]


def fill_vans(parcels, capacity):
    """Parcels by van: the heaviest first, each into the first van that has room for it.

    Raises ValueError for a parcel that fits into no van.
    """
    vans = []
    room = []
    for parcel in sorted(parcels, key=lambda parcel: (-parcel.weight, parcel.name)):
        if parcel.weight > capacity:
            raise ValueError(f"{parcel.name} weighs {parcel.weight}, a van carries {capacity}")
        for number, free in enumerate(room):
            if parcel.weight <= free:
                vans[number].append(parcel)
                room[number] -= parcel.weight
                break
        else:
            vans.append([parcel])
            room.append(capacity - parcel.weight)
    return vans


def split_fairly(weights, vans):
    """The smallest largest load when parcels go into vans in their order, each van a run of them."""
    if not weights or vans < 1:
        raise ValueError("there must be parcels and vans")
    low, high = max(weights), sum(weights)
    while low < high:
        middle = (low + high) // 2
        needed = 1
        load = 0
        for weight in weights:
            if load + weight > middle:
                needed += 1
                load = 0
            load += weight
        if needed <= vans:
            high = middle
        else:
            low = middle + 1
    return low


def change(amount, coins):
    """The fewest coins that make an amount, largest first; None where none do."""
    fewest = [0] + [None] * amount
    last = [0] * (amount + 1)
    for total in range(1, amount + 1):
        for coin in coins:
            if coin > total or fewest[total - coin] is None:
                continue
            count = fewest[total - coin] + 1
            if fewest[total] is None or count < fewest[total]:
                fewest[total] = count
                last[total] = coin
    if fewest[amount] is None:
        return None
    given = []
    while amount:
        given.append(last[amount])
        amount -= last[amount]
    return sorted(given, reverse=True)


class Stock:
    """Pieces on the shelf; what is reserved is neither sold nor free."""

    def __init__(self, pieces=None):
        self._pieces = dict(pieces or {})
        self._reserved = {}
        self._undo = []

    def free(self, article):
        """Pieces that nobody has reserved."""
        return self._pieces.get(article, 0) - self._reserved.get(article, 0)

    def receive(self, article, count):
        """Put pieces on the shelf."""
        if count <= 0:
            raise ValueError("nothing was received")
        self._pieces[article] = self._pieces.get(article, 0) + count
        self._undo.append(("receive", article, count))

    def reserve(self, wanted):
        """Reserve articles, all of them or none; the missing ones with their number."""
        missing = {}
        for article, count in wanted.items():
            short = count - self.free(article)
            if short > 0:
                missing[article] = short
        if missing:
            return missing
        for article, count in wanted.items():
            self._reserved[article] = self._reserved.get(article, 0) + count
            self._undo.append(("reserve", article, count))
        return {}

    def ship(self, article, count):
        """Take reserved pieces off the shelf."""
        if self._reserved.get(article, 0) < count:
            raise ValueError(f"only {self._reserved.get(article, 0)} of {article} are reserved")
        self._reserved[article] -= count
        self._pieces[article] -= count
        self._undo.append(("ship", article, count))

    def undo(self):
        """Take the last step back; False where there is none."""
        if not self._undo:
            return False
        step, article, count = self._undo.pop()
        if step == "receive":
            self._pieces[article] -= count
        elif step == "reserve":
            self._reserved[article] -= count
        else:
            self._reserved[article] += count
            self._pieces[article] += count
        return True

    def low(self, threshold):
        """Articles of which fewer are free than the threshold, the scarcest first."""
        scarce = [(self.free(article), article) for article in self._pieces]
        return [article for free, article in sorted(scarce) if free < threshold]
