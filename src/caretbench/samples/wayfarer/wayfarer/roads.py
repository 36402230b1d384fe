"""The road network: directed edges with a length, and what can be found out about it."""

from wayfarer.heap import IndexedHeap

INFINITE = float("inf")


class NoRoute(Exception):
    """There is no way from one place to the other."""


class RoadNetwork:
    """Places and the roads between them."""

    def __init__(self):
        self._roads = {}

    def add_place(self, place):
        """A place without roads, unless it is known already."""
        self._roads.setdefault(place, {})

    def add_road(self, start, end, length, one_way=False):
        """A road of some length; of several between two places the shortest is kept."""
        if length < 0:
            raise ValueError(f"a road cannot be {length} long")
        self.add_place(start)
        self.add_place(end)
        known = self._roads[start].get(end, INFINITE)
        self._roads[start][end] = min(known, length)
        if not one_way:
            self.add_road(end, start, length, one_way=True)

    def places(self):
        """All places, in the order of their names."""
        return sorted(self._roads)

    def roads_from(self, place):
        """Neighbours of a place with the length of the road."""
        return dict(self._roads[place])

    def roads(self):
        """Every road as (start, end, length)."""
        return [
            (start, end, length)
            for start in self.places()
            for end, length in sorted(self._roads[start].items())
        ]

    def distances(self, start):
        """Length of the shortest way to every place that can be reached (Dijkstra)."""
        found = {}
        waiting = IndexedHeap()
        waiting.push(start, 0)
        while waiting:
            place, distance = waiting.pop()
            found[place] = distance
            for neighbour, length in self._roads[place].items():
                if neighbour in found:
                    continue
                through = distance + length
                if neighbour not in waiting or through < waiting.priority(neighbour):
                    waiting.push(neighbour, through)
        return found

    def route(self, start, end, guess=None):
        """The shortest way as a list of places, and its length (A* where a lower bound is given)."""
        if start not in self._roads or end not in self._roads:
            raise NoRoute(f"{start} or {end} is not on the map")
        estimate = guess or (lambda place, goal: 0)
        came_from = {}
        lengths = {start: 0}
        waiting = IndexedHeap()
        waiting.push(start, estimate(start, end))
        while waiting:
            place, _ = waiting.pop()
            if place == end:
                return _walk_back(came_from, end), lengths[end]
            for neighbour, length in self._roads[place].items():
                through = lengths[place] + length
                if through < lengths.get(neighbour, INFINITE):
                    lengths[neighbour] = through
                    came_from[neighbour] = place
                    waiting.push(neighbour, through + estimate(neighbour, end))
        raise NoRoute(f"no way from {start} to {end}")

    def reachable(self, start):
        """The places that can be reached from one, itself included, nearest first by number of roads."""
        order = [start]
        seen = {start}
        for place in order:
            for neighbour in sorted(self._roads[place]):
                if neighbour not in seen:
                    seen.add(neighbour)
                    order.append(neighbour)
        return order

    def districts(self):
        """Groups of places that can all reach each other (Tarjan), each sorted, largest first."""
        numbers = {}
        lowest = {}
        stack = []
        on_stack = set()
        groups = []

        def visit(place):
            numbers[place] = lowest[place] = len(numbers)
            stack.append(place)
            on_stack.add(place)
            for neighbour in self._roads[place]:
                if neighbour not in numbers:
                    visit(neighbour)
                    lowest[place] = min(lowest[place], lowest[neighbour])
                elif neighbour in on_stack:
                    lowest[place] = min(lowest[place], numbers[neighbour])
            if lowest[place] == numbers[place]:
                group = []
                while True:
                    member = stack.pop()
                    on_stack.discard(member)
                    group.append(member)
                    if member == place:
                        break
                groups.append(sorted(group))

        for place in self.places():
            if place not in numbers:
                visit(place)
        return sorted(groups, key=lambda group: (-len(group), group))

    def all_distances(self):
        """Lengths between all pairs of places (Floyd and Warshall)."""
        places = self.places()
        table = {(one, other): INFINITE for one in places for other in places}
        for place in places:
            table[place, place] = 0
        for start, end, length in self.roads():
            table[start, end] = min(table[start, end], length)
        for middle in places:
            for start in places:
                if table[start, middle] == INFINITE:
                    continue
                for end in places:
                    through = table[start, middle] + table[middle, end]
                    if through < table[start, end]:
                        table[start, end] = through
        return table


def _walk_back(came_from, end):
    way = [end]
    while way[-1] in came_from:
        way.append(came_from[way[-1]])
    way.reverse()
    return way


class DisjointSets:
    """Which things belong together, by pairs that do."""

    def __init__(self, things=()):
        self._parents = {thing: thing for thing in things}
        self._sizes = dict.fromkeys(self._parents, 1)

    def find(self, thing):
        """The thing that stands for a group; the way to it is made shorter."""
        root = thing
        while self._parents[root] != root:
            root = self._parents[root]
        while self._parents[thing] != root:
            self._parents[thing], thing = root, self._parents[thing]
        return root

    def join(self, one, other):
        """Put two groups together; False where they were one already."""
        first, second = self.find(one), self.find(other)
        if first == second:
            return False
        if self._sizes[first] < self._sizes[second]:
            first, second = second, first
        self._parents[second] = first
        self._sizes[first] += self._sizes[second]
        return True

    def count(self):
        """How many groups there are."""
        return sum(1 for thing, parent in self._parents.items() if thing == parent)


def cheapest_links(network):
    """The roads that connect everything for the least length (Kruskal), and their sum."""
    groups = DisjointSets(network.places())
    chosen = []
    total = 0
    undirected = {}
    for start, end, length in network.roads():
        pair = (min(start, end), max(start, end))
        undirected[pair] = min(length, undirected.get(pair, INFINITE))
    for (start, end), length in sorted(undirected.items(), key=lambda item: (item[1], item[0])):
        if groups.join(start, end):
            chosen.append((start, end, length))
            total += length
    return chosen, total


def order_of_work(needs):
    """An order in which everything comes after what it needs; the first in the alphabet goes first.

    Raises ValueError where things need each other in a circle.
    """
    waiting = {}
    followers = {}
    for thing, before in needs.items():
        waiting.setdefault(thing, 0)
        for other in before:
            waiting.setdefault(other, 0)
            waiting[thing] += 1
            followers.setdefault(other, []).append(thing)
    ready = sorted(thing for thing, count in waiting.items() if count == 0)
    order = []
    while ready:
        thing = ready.pop(0)
        order.append(thing)
        for follower in followers.get(thing, []):
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready.append(follower)
        ready.sort()
    if len(order) < len(waiting):
        left = sorted(set(waiting) - set(order))
        raise ValueError(f"in a circle: {', '.join(left)}")
    return order


def round_trip(start, stops, distance):
    """A tour over all stops and back: nearest neighbour first, then crossings taken out (2-opt)."""
    tour = [start]
    left = list(stops)
    while left:
        nearest = min(left, key=lambda stop: (distance(tour[-1], stop), stop))
        left.remove(nearest)
        tour.append(nearest)
    tour.append(start)
    better = True
    while better:
        better = False
        for i in range(1, len(tour) - 2):
            for j in range(i + 1, len(tour) - 1):
                before = distance(tour[i - 1], tour[i]) + distance(tour[j], tour[j + 1])
                after = distance(tour[i - 1], tour[j]) + distance(tour[i], tour[j + 1])
                if after < before - 1e-9:
                    tour[i : j + 1] = reversed(tour[i : j + 1])
                    better = True
    return tour


def tour_length(tour, distance):
    """The sum over all legs."""
    return sum(distance(one, other) for one, other in zip(tour, tour[1:]))
