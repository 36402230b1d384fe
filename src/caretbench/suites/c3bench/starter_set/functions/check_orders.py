"""Checks of the functions in orders.py."""


def check_order_total(candidate):
    assert candidate([5, 3], [2, 4]) == 22
    assert candidate([], []) == 0
    assert candidate([10, 20, 30], [0, 1, 2]) == 80
    assert candidate([7], [3, 9]) == 21


def check_discount(candidate):
    assert candidate(0) == 0
    assert candidate(99) == 0
    assert candidate(100) == 5
    assert candidate(500) == 10
    assert candidate(999) == 10
    assert candidate(1000) == 15


def check_stock_after(candidate):
    assert candidate({"pen": 2, "ink": 1}, ["pen", "ink", "ink"]) == {"pen": 1, "ink": 0}
    assert candidate({}, ["cup"]) == {"cup": 0}
    assert candidate({"cup": 3}, []) == {"cup": 3}


def check_cheapest(candidate):
    assert candidate({"pen": 3, "ink": 9, "cup": 1}, 2) == ["cup", "pen"]
    assert candidate({"b": 1, "a": 1}, 5) == ["a", "b"]
    assert candidate({}, 2) == []
    assert candidate({"a": 1}, 0) == []


def check_share_costs(candidate):
    assert candidate(10, 3) == [4, 3, 3]
    assert candidate(9, 3) == [3, 3, 3]
    assert candidate(5, 0) == []
    assert candidate(1, 2) == [1, 0]


def check_pack_boxes(candidate):
    assert candidate([4, 4, 4], 8) == 2
    assert candidate([], 5) == 0
    assert candidate([9, 1], 5) == 2
    assert candidate([1, 2, 3, 4], 10) == 1


def check_best_sellers(candidate):
    assert candidate(["pen", "ink", "pen", "cup", "cup"]) == ["cup", "pen"]
    assert candidate([]) == []
    assert candidate(["a", "b"]) == []
    assert candidate(["z", "z", "a", "a", "a"]) == ["a", "z"]


def check_shipping(candidate):
    assert candidate(0, False) == 0
    assert candidate(500, False) == 390
    assert candidate(501, False) == 590
    assert candidate(2001, True) == 1980
    assert candidate(100, True) == 780


def check_totals_by_month(candidate):
    assert candidate([1, 2, 1], [5, 7, 8]) == {1: 13, 2: 7}
    assert candidate([], []) == {}
    assert candidate([3, 3, 3], [1, 1, 1]) == {3: 3}
    assert candidate([12, 1], [4]) == {12: 4}


def check_return_slips(candidate):
    assert candidate([4, 5, 4, 6], [6, 4]) == [4, 6]
    assert candidate([], [1]) == []
    assert candidate([1, 2], []) == []
    assert candidate([3, 2, 1], [1, 2, 3]) == [3, 2, 1]


def check_change_coins(candidate):
    assert candidate(88) == [50, 20, 10, 5, 2, 1]
    assert candidate(0) == []
    assert candidate(3) == [2, 1]
    assert candidate(140) == [50, 50, 20, 20]
