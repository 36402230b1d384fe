"""Figures about a day: means, quantiles, a line through points, small systems of equations."""

import math


class Running:
    """Mean and spread of numbers that come one by one (Welford)."""

    def __init__(self):
        self.count = 0
        self.mean = 0.0
        self._squares = 0.0
        self.least = math.inf
        self.most = -math.inf

    def add(self, number):
        """Take one more number in."""
        self.count += 1
        step = number - self.mean
        self.mean += step / self.count
        self._squares += step * (number - self.mean)
        self.least = min(self.least, number)
        self.most = max(self.most, number)

    def spread(self):
        """The standard deviation of a sample; 0 for fewer than two numbers."""
        if self.count < 2:
            return 0.0
        return math.sqrt(self._squares / (self.count - 1))


def quantile(numbers, share):
    """The number below which a share of all lies, between neighbours in proportion."""
    if not numbers:
        raise ValueError("no numbers")
    if not 0 <= share <= 1:
        raise ValueError(f"{share} is no share")
    ordered = sorted(numbers)
    place = share * (len(ordered) - 1)
    low = int(place)
    if low + 1 == len(ordered):
        return ordered[low]
    return ordered[low] + (place - low) * (ordered[low + 1] - ordered[low])


def histogram(numbers, width):
    """How many numbers fall into each bin of some width: (start of the bin, count), empty ones between too."""
    if not numbers:
        return []
    counts = {}
    for number in numbers:
        start = math.floor(number / width)
        counts[start] = counts.get(start, 0) + 1
    return [(start * width, counts.get(start, 0)) for start in range(min(counts), max(counts) + 1)]


def line_through(points):
    """Slope and height at 0 of the line with the least squares of errors."""
    count = len(points)
    if count < 2:
        raise ValueError("a line needs two points")
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    above = below = 0.0
    for x, y in points:
        above += (x - mean_x) * (y - mean_y)
        below += (x - mean_x) ** 2
    if below == 0:
        raise ValueError("all points stand above each other")
    slope = above / below
    return slope, mean_y - slope * mean_x


def solve(table, right):
    """The x for which table times x is right (elimination with the largest pivot).

    Raises ValueError where there is no single answer.
    """
    size = len(table)
    rows = [list(row) + [value] for row, value in zip(table, right)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda number: abs(rows[number][column]))
        if abs(rows[pivot][column]) < 1e-12:
            raise ValueError("no single answer")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for below in range(column + 1, size):
            factor = rows[below][column] / rows[column][column]
            for place in range(column, size + 1):
                rows[below][place] -= factor * rows[column][place]
    answer = [0.0] * size
    for row in range(size - 1, -1, -1):
        known = sum(rows[row][place] * answer[place] for place in range(row + 1, size))
        answer[row] = (rows[row][size] - known) / rows[row][row]
    return answer


def moving_mean(numbers, width):
    """The mean of each run of some width."""
    if width < 1:
        raise ValueError("a run has at least one number")
    means = []
    total = 0.0
    for place, number in enumerate(numbers):
        total += number
        if place >= width:
            total -= numbers[place - width]
        if place >= width - 1:
            means.append(total / width)
    return means


def longest_rise(numbers):
    """The longest run of numbers, not always neighbours, each larger than the one before."""
    tails = []
    places = []
    before = [None] * len(numbers)
    for place, number in enumerate(numbers):
        low, high = 0, len(tails)
        while low < high:
            middle = (low + high) // 2
            if tails[middle] < number:
                low = middle + 1
            else:
                high = middle
        if low == len(tails):
            tails.append(number)
            places.append(place)
        else:
            tails[low] = number
            places[low] = place
        if low > 0:
            before[place] = places[low - 1]
    rise = []
    place = places[-1] if places else None
    while place is not None:
        rise.append(numbers[place])
        place = before[place]
    rise.reverse()
    return rise


class Draws:
    """Random numbers that are the same everywhere (a linear congruential generator)."""

    def __init__(self, seed):
        self._state = seed % 2**31

    def below(self, bound):
        """A whole number from 0 to the bound, which it never is."""
        self._state = (1103515245 * self._state + 12345) % 2**31
        return (self._state >> 8) % bound

    def shuffled(self, things):
        """The things in another order (Fisher and Yates)."""
        result = list(things)
        for last in range(len(result) - 1, 0, -1):
            other = self.below(last + 1)
            result[last], result[other] = result[other], result[last]
        return result

    def pick(self, weights):
        """A name, more often the more it weighs."""
        left = self.below(sum(weights.values()))
        for name, weight in weights.items():
            if left < weight:
                return name
            left -= weight
        raise AssertionError("weights changed under way")
