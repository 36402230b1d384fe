"""Orders of a shop: totals, discounts and stock."""


def order_total(prices: list[int], amounts: list[int]) -> int:
    """Return the sum of prices times amounts."""
    total = 0
    for price, amount in zip(prices, amounts):
        total += price * amount
    return total


def discount(total: int) -> int:
    """Return the discount in percent for a total: 0, 5, 10 or 15."""
    if total >= 1000:
        percent = 15
    elif total >= 500:
        percent = 10
    elif total >= 100:
        percent = 5
    else:
        percent = 0
    return percent


def stock_after(stock: dict[str, int], sold: list[str]) -> dict[str, int]:
    """Return the stock after sales; what is sold out, or was never there, stays at 0."""
    left = dict(stock)
    for name in sold:
        if name in left:
            left[name] = max(left[name] - 1, 0)
        else:
            left[name] = 0
    return left


def cheapest(prices: dict[str, int], count: int) -> list[str]:
    """Return the names of the cheapest articles in order; equal prices by name."""
    names = sorted(prices, key=lambda name: (prices[name], name))
    return names[: max(count, 0)]


def share_costs(total: int, people: int) -> list[int]:
    """Return shares of whole numbers that differ by at most one, the larger first; empty without people."""
    if people <= 0:
        return []
    shares = []
    for person in range(people):
        share = total // people
        if person < total % people:
            share += 1
        shares.append(share)
    return shares


def pack_boxes(weights: list[int], limit: int) -> int:
    """Return how many boxes are needed if articles are packed in their order."""
    if not weights:
        return 0
    boxes = 1
    load = 0
    for weight in weights:
        if load + weight > limit and load > 0:
            boxes += 1
            load = 0
        load += weight
    return boxes


def best_sellers(sales: list[str]) -> list[str]:
    """Return the articles that were sold more than once, by name."""
    counts = {}
    for article in sales:
        if article in counts:
            counts[article] += 1
        else:
            counts[article] = 1
    found = []
    for article in counts:
        if counts[article] > 1:
            found.append(article)
    return sorted(found)


def shipping(weight: int, express: bool) -> int:
    """Return the price of shipping in cents; express costs twice as much."""
    if weight <= 0:
        return 0
    if weight <= 500:
        price = 390
    elif weight <= 2000:
        price = 590
    else:
        price = 990
    if express:
        price = price * 2
    return price


def totals_by_month(months: list[int], amounts: list[int]) -> dict[int, int]:
    """Return the sum of amounts for each month."""
    totals = {}
    for month, amount in zip(months, amounts):
        if month not in totals:
            totals[month] = 0
        totals[month] += amount
    return totals


def return_slips(orders: list[int], returned: list[int]) -> list[int]:
    """Return the orders that were returned, each once, in the order of the orders."""
    slips = []
    for order in orders:
        if order in returned and order not in slips:
            slips.append(order)
    return slips


def change_coins(amount: int) -> list[int]:
    """Return the fewest coins of 50, 20, 10, 5, 2 and 1 for an amount."""
    coins = []
    for coin in (50, 20, 10, 5, 2, 1):
        while amount >= coin:
            coins.append(coin)
            amount -= coin
    return coins
