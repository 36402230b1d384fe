"""Invoices of a regional electricity supplier, from the readings of the customers' meters."""

from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise


def to_cents(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class Tariff:
    """Price per unit by tier (units up to, price), and a standing charge for each day."""

    tiers: tuple[tuple[int | None, Decimal], ...]
    standing_charge: Decimal

    def cost(self, units: int) -> Decimal:
        total, below = Decimal(0), 0
        for limit, price in self.tiers:
            upper = units if limit is None else min(units, limit)
            total += max(upper - below, 0) * price
            below = max(below, upper)
        return total


@dataclass(frozen=True)
class Invoice:
    customer: str
    start: date
    end: date
    units: int
    amount: Decimal


@dataclass
class Account:
    customer: str
    tariff: Tariff
    meter_digits: int = 5
    readings: list[tuple[date, int]] = field(default_factory=list)

    def record(self, day: date, value: int) -> None:
        if self.readings and day <= self.readings[-1][0]:
            raise ValueError(f"{self.customer}: reading of {day} is not after the last one")
        self.readings.append((day, value))

    def consumption(self):
        """Yield (start, end, units) between readings; a meter that overflowed starts again from 0."""
        for (start, before), (end, after) in pairwise(self.readings):
            yield start, end, (after - before) % 10**self.meter_digits

    def invoices(self):
        """Yield the invoice of every period between two readings, in the order of the readings."""
⟦        for start, end, units in self.consumption():
            days = (end - start).days
            amount = self.tariff.cost(units) + days * self.tariff.standing_charge
            yield Invoice(self.customer, start, end, units, to_cents(amount))
⟧
    def balance(self, paid: Decimal) -> Decimal:
        """What the customer still owes after having paid ``paid``."""
        return sum((invoice.amount for invoice in self.invoices()), Decimal(0)) - paid
⟦tests⟧
household = Tariff(((100, Decimal("0.20")), (None, Decimal("0.315"))), Decimal("0.45"))
account = Account("C-77", household)
assert list(account.invoices()) == []
account.record(date(2024, 1, 31), 99950)
assert list(account.invoices()) == []
account.record(date(2024, 3, 1), 99999)
account.record(date(2024, 3, 31), 131)

invoices = account.invoices()
assert iter(invoices) is invoices, "invoices are yielded one by one"
first, second = invoices
assert first == Invoice("C-77", date(2024, 1, 31), date(2024, 3, 1), 49, Decimal("23.30"))
assert second == Invoice("C-77", date(2024, 3, 1), date(2024, 3, 31), 132, Decimal("43.58"))
assert account.balance(Decimal("50.00")) == Decimal("16.88")

idle = Account("C-78", Tariff(((None, Decimal("0.10")),), Decimal("0.125")), readings=[(date(2023, 12, 31), 7)])
idle.record(date(2024, 1, 1), 7)
(only,) = idle.invoices()
assert only.units == 0
assert only.amount == Decimal("0.13") and only.amount.as_tuple().exponent == -2
