"""Shelves of a depot: what lies where, and how vans are loaded."""

from parcels import box_volume, price_of


class Shelf:
    """A shelf with room for some litres."""

    def __init__(self, room):
        self.room = room
        self.items = []

    def free(self):
        """Return the litres that are left."""
        used = 0
        for box, count in self.items:
            used += box_volume(box) * count
        return self.room - used

    def put(self, box, count=1):
        """Put as many boxes as fit, and return how many did."""
        placed = 0
        while placed < count and box_volume(box) <= self.free():
            self.items.append((box, 1))
            placed += 1
        return placed

    def take(self, box):
        """Take one box away; False if there is none."""
        try:
            index = self.items.index((box, 1))
        except ValueError:
            return False
        del self.items[index]
        return True


def counts(labels):
    """Return the number of boxes by country and box."""
    found = {}
    for country, _number, box, count in labels:
        key = country, box
        found[key] = found.get(key, 0) + count
    return found


def load_vans(labels, room):
    """Spread labels over vans in their order; a van takes a label only whole."""
    vans, left = [], 0
    for label in labels:
        volume = box_volume(label[2]) * label[3]
        if volume > room:
            raise ValueError(f"label {label[1]} fits into no van")
        if not vans or volume > left:
            vans.append([])
            left = room
        vans[-1].append(label[1])
        left -= volume
    return vans


def invoice(labels, express=()):
    """Return the lines of an invoice, and its total in cents."""
    lines, total = [], 0
    for country, number, box, count in labels:
        price = price_of(box, count, express=number in express)
        if country != "DE":
            price += 250
        total += price
        lines.append(f"{country}-{number} {count} x {box}: {price / 100:.2f}")
    return lines, total


def merge_routes(routes):
    """Join routes that share a stop, until none do."""
    waiting = [list(route) for route in routes]
    merged = []
    while waiting:
        first = waiting.pop(0)
        index = 0
        while index < len(waiting):
            if set(first) & set(waiting[index]):
                first += [stop for stop in waiting.pop(index) if stop not in first]
                index = 0
            else:
                index += 1
        merged.append(first)
    return merged
