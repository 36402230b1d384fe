"""A binary heap whose items can move up when their priority falls."""


class IndexedHeap:
    """Items by priority, the smallest first; every item is in it once."""

    def __init__(self):
        self._items = []
        self._priorities = {}
        self._places = {}

    def __len__(self):
        return len(self._items)

    def __contains__(self, item):
        return item in self._places

    def priority(self, item):
        """The priority of an item that is in the heap."""
        return self._priorities[item]

    def push(self, item, priority):
        """Put an item in, or change its priority."""
        if item in self._places:
            before = self._priorities[item]
            self._priorities[item] = priority
            if priority < before:
                self._rise(self._places[item])
            else:
                self._sink(self._places[item])
            return
        self._items.append(item)
        self._priorities[item] = priority
        self._places[item] = len(self._items) - 1
        self._rise(len(self._items) - 1)

    def pop(self):
        """Take the item of the smallest priority out: (item, priority)."""
        if not self._items:
            raise IndexError("pop from an empty heap")
        top = self._items[0]
        priority = self._priorities.pop(top)
        del self._places[top]
        last = self._items.pop()
        if self._items:
            self._items[0] = last
            self._places[last] = 0
            self._sink(0)
        return top, priority

    def _before(self, one, other):
        return self._priorities[self._items[one]] < self._priorities[self._items[other]]

    def _swap(self, one, other):
        items = self._items
        items[one], items[other] = items[other], items[one]
        self._places[items[one]] = one
        self._places[items[other]] = other

    def _rise(self, place):
        while place > 0:
            parent = (place - 1) // 2
            if not self._before(place, parent):
                break
            self._swap(place, parent)
            place = parent

    def _sink(self, place):
        size = len(self._items)
        while True:
            smallest = place
            for child in (2 * place + 1, 2 * place + 2):
                if child < size and self._before(child, smallest):
                    smallest = child
            if smallest == place:
                return
            self._swap(place, smallest)
            place = smallest
