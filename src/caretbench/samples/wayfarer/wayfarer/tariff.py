"""Prices as small formulas: `5 + 0.8 * km + (2 if weight > 10 else 0)` is written `5 + 0.8*km + (weight > 10) * 2`."""

import re

_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*)|([A-Za-z_]\w*)|(<=|>=|==|!=|[-+*/^(),<>]))")
_POWERS = {
    "==": 10, "!=": 10, "<": 20, ">": 20, "<=": 20, ">=": 20, "+": 30, "-": 30, "*": 40, "/": 40, "^": 60,
}  # fmt: skip
_NEGATION = 50


class FormulaError(ValueError):
    """A formula that cannot be read or worked out."""


def tokens(text):
    """The formula's numbers, names and signs as (kind, value)."""
    found = []
    place = 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise FormulaError(f"{text[place:].strip()[:1]!r} is not understood")
        number, name, sign = match.groups()
        if number is not None:
            found.append(("number", float(number)))
        elif name is not None:
            found.append(("name", name))
        else:
            found.append(("sign", sign))
        place = match.end()
    return found


class _Parser:
    def __init__(self, text):
        self._tokens = tokens(text)
        self._place = 0

    def parse(self):
        tree = self._expression(0)
        if self._peek() is not None:
            raise FormulaError(f"{self._peek()[1]!r} is left over")
        return tree

    def _peek(self):
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _next(self):
        token = self._peek()
        if token is None:
            raise FormulaError("the formula ends too early")
        self._place += 1
        return token

    def _expect(self, sign):
        if self._next() != ("sign", sign):
            raise FormulaError(f"{sign!r} is missing")

    def _expression(self, least):
        left = self._first()
        while True:
            token = self._peek()
            if token is None or token[0] != "sign" or _POWERS.get(token[1], -1) < least:
                return left
            sign = self._next()[1]
            power = _POWERS.get(sign)
            if power is None:
                return left
            right = self._expression(power if sign == "^" else power + 1)
            left = (sign, left, right)

    def _first(self):
        kind, value = self._next()
        if kind == "number":
            return ("number", value)
        if kind == "name":
            if self._peek() == ("sign", "("):
                self._next()
                return ("call", value, self._arguments())
            return ("name", value)
        if value == "-":
            return ("negative", self._expression(_NEGATION))
        if value == "(":
            inner = self._expression(0)
            self._expect(")")
            return inner
        raise FormulaError(f"{value!r} cannot stand here")

    def _arguments(self):
        if self._peek() == ("sign", ")"):
            self._next()
            return []
        arguments = [self._expression(0)]
        while self._peek() == ("sign", ","):
            self._next()
            arguments.append(self._expression(0))
        self._expect(")")
        return arguments


_OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "^": lambda a, b: a**b,
    "<": lambda a, b: float(a < b),
    ">": lambda a, b: float(a > b),
    "<=": lambda a, b: float(a <= b),
    ">=": lambda a, b: float(a >= b),
    "==": lambda a, b: float(a == b),
    "!=": lambda a, b: float(a != b),
}
_FUNCTIONS = {"min": min, "max": max, "abs": abs, "round": lambda x, digits=0: round(x, int(digits))}


def price(formula, **values):
    """What a formula comes to for the given values."""
    return _value(_Parser(formula).parse(), values)


def _value(tree, values):
    kind = tree[0]
    if kind == "number":
        return tree[1]
    if kind == "name":
        if tree[1] not in values:
            raise FormulaError(f"{tree[1]} is not given")
        return values[tree[1]]
    if kind == "negative":
        return -_value(tree[1], values)
    if kind == "call":
        function = _FUNCTIONS.get(tree[1])
        if function is None:
            raise FormulaError(f"there is no function {tree[1]}")
        return function(*(_value(argument, values) for argument in tree[2]))
    left, right = _value(tree[1], values), _value(tree[2], values)
    if kind == "/":
        if right == 0:
            raise FormulaError("division by zero")
        return left / right
    return _OPERATIONS[kind](left, right)


def names(formula):
    """The values that a formula needs, sorted."""
    found = set()
    stack = [_Parser(formula).parse()]
    while stack:
        tree = stack.pop()
        if tree[0] == "name":
            found.add(tree[1])
        elif tree[0] == "call":
            stack.extend(tree[2])
        else:
            stack.extend(branch for branch in tree[1:] if isinstance(branch, tuple))
    return sorted(found)
