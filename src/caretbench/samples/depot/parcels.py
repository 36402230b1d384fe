"""Parcels of a depot: labels, prices, and the sizes of boxes."""

BOXES = {"S": (30, 20, 10), "M": (40, 30, 20), "L": (60, 40, 40)}


class LabelError(ValueError):
    """A label that cannot be read."""


def parse_label(text):
    """Read a label such as ``DE-1207:M*3`` into country, number, box and count."""
    head, colon, tail = text.strip().partition(":")
    if not colon:
        raise LabelError(f"no box in {text!r}")
    country, dash, number = head.partition("-")
    if not dash or len(country) != 2:
        raise LabelError(f"no country in {text!r}")
    box, star, count = tail.partition("*")
    try:
        parsed = int(number), int(count) if star else 1
    except ValueError as error:
        raise LabelError(f"no number in {text!r}") from error
    if box not in BOXES:
        raise LabelError(f"unknown box {box!r}")
    return country.upper(), parsed[0], box, parsed[1]


def box_volume(box):
    """Return the litres of a box."""
    volume = 1
    for side in BOXES[box]:
        volume *= side
    return volume / 1000


def price_of(box, count=1, express=False):
    """Return the price in cents: by litre, with a minimum, and less for many."""
    each = max(390, round(box_volume(box) * 25))
    total = each * count
    if count >= 10:
        total -= total // 10
    elif count >= 5:
        total -= total // 20
    if express:
        total += 500
    return total


def smallest_box(sides):
    """Return the smallest box that an item fits into, or None."""
    wanted = sorted(sides, reverse=True)
    found = None
    for name in sorted(BOXES, key=box_volume):
        offered = sorted(BOXES[name], reverse=True)
        if all(need <= have for need, have in zip(wanted, offered)):
            found = name
            break
    return found


def read_labels(lines):
    """Return the labels of some lines, and the numbers of the lines that are wrong."""
    labels, wrong = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            labels.append(parse_label(line))
        except LabelError:
            wrong.append(number)
    return labels, wrong
