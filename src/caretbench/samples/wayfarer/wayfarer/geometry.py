"""Points on a map in kilometres, and distances on the globe."""

import math
from collections import namedtuple

EARTH_RADIUS_KM = 6371.0

Point = namedtuple("Point", "x y")


def distance(one, other):
    """As the crow flies."""
    return math.hypot(one.x - other.x, one.y - other.y)


def globe_distance(latitude, longitude, other_latitude, other_longitude):
    """Kilometres along the great circle between two places given in degrees."""
    phi, other_phi = math.radians(latitude), math.radians(other_latitude)
    half_phi = math.sin((other_phi - phi) / 2) ** 2
    half_lambda = math.sin(math.radians(other_longitude - longitude) / 2) ** 2
    chord = half_phi + math.cos(phi) * math.cos(other_phi) * half_lambda
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(chord))


def turn(a, b, c):
    """Positive where the way a, b, c turns left, negative where it turns right, 0 where it is straight."""
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)


def convex_hull(points):
    """The corners of the smallest convex area around all points, against the clock from the leftmost."""
    ordered = sorted(set(points))
    if len(ordered) <= 2:
        return ordered

    def half(sequence):
        chain = []
        for point in sequence:
            while len(chain) >= 2 and turn(chain[-2], chain[-1], point) <= 0:
                chain.pop()
            chain.append(point)
        return chain[:-1]

    return half(ordered) + half(reversed(ordered))


def area(corners):
    """The area of a polygon by its corners in order."""
    total = 0.0
    for place, corner in enumerate(corners):
        following = corners[(place + 1) % len(corners)]
        total += corner.x * following.y - following.x * corner.y
    return abs(total) / 2


def inside(point, corners):
    """Whether a point lies in a polygon; a point on its border does."""
    within = False
    for place, corner in enumerate(corners):
        other = corners[place - 1]
        if turn(other, corner, point) == 0 and _between(other, corner, point):
            return True
        if (corner.y > point.y) != (other.y > point.y):
            crossing = (other.x - corner.x) * (point.y - corner.y) / (other.y - corner.y) + corner.x
            if point.x < crossing:
                within = not within
    return within


def _between(one, other, point):
    return min(one.x, other.x) <= point.x <= max(one.x, other.x) and min(one.y, other.y) <= point.y <= max(
        one.y, other.y
    )


def crossing(a, b, c, d):
    """The point where the segments a-b and c-d cross, or None."""
    denominator = (a.x - b.x) * (c.y - d.y) - (a.y - b.y) * (c.x - d.x)
    if denominator == 0:
        return None
    t = ((a.x - c.x) * (c.y - d.y) - (a.y - c.y) * (c.x - d.x)) / denominator
    u = ((a.x - c.x) * (a.y - b.y) - (a.y - c.y) * (a.x - b.x)) / denominator
    if 0 <= t <= 1 and 0 <= u <= 1:
        return Point(a.x + t * (b.x - a.x), a.y + t * (b.y - a.y))
    return None


class NearestPoints:
    """Finds the nearest of many points (a tree that halves them by x and y in turns)."""

    def __init__(self, points):
        self._root = self._build(list(points), 0)

    def _build(self, points, depth):
        if not points:
            return None
        axis = depth % 2
        points.sort(key=lambda point: point[axis])
        middle = len(points) // 2
        return (
            points[middle],
            self._build(points[:middle], depth + 1),
            self._build(points[middle + 1 :], depth + 1),
        )

    def nearest(self, target):
        """The nearest point, and how far it is; None where there are no points."""
        best = None

        def search(node, depth):
            nonlocal best
            if node is None:
                return
            point, below, above = node
            away = distance(point, target)
            if best is None or away < best[1]:
                best = (point, away)
            axis = depth % 2
            offset = target[axis] - point[axis]
            near, far = (below, above) if offset < 0 else (above, below)
            search(near, depth + 1)
            if abs(offset) < best[1]:
                search(far, depth + 1)

        search(self._root, 0)
        return best

    def within(self, target, radius):
        """All points that are no farther than the radius, sorted."""
        found = []
        stack = [(self._root, 0)]
        while stack:
            node, depth = stack.pop()
            if node is None:
                continue
            point, below, above = node
            if distance(point, target) <= radius:
                found.append(point)
            offset = target[depth % 2] - point[depth % 2]
            if offset <= radius:
                stack.append((below, depth + 1))
            if -offset <= radius:
                stack.append((above, depth + 1))
        return sorted(found)


def simplify(line, tolerance):
    """The line without points that lie nearer than the tolerance to what is left (Douglas and Peucker)."""
    if len(line) < 3:
        return list(line)
    first, last = line[0], line[-1]
    span = distance(first, last)
    farthest, place = 0.0, 0
    for number in range(1, len(line) - 1):
        if span == 0:
            away = distance(line[number], first)
        else:
            away = abs(turn(first, last, line[number])) / span
        if away > farthest:
            farthest, place = away, number
    if farthest <= tolerance:
        return [first, last]
    return simplify(line[: place + 1], tolerance)[:-1] + simplify(line[place:], tolerance)
