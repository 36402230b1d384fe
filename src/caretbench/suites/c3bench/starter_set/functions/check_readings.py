"""Checks of the functions in readings.py."""


def check_count_above(candidate):
    assert candidate([1.0, 2.5, 3.0], 2.0) == 2
    assert candidate([1.0, 2.0], 2.0) == 0
    assert candidate([], 1.0) == 0
    assert candidate([4.0, -3.0, 9.5, 9.6, 2.0], 9.5) == 1


def check_largest_jump(candidate):
    assert candidate([1, 4, 2, 9]) == 7
    assert candidate([5]) == 0
    assert candidate([]) == 0
    assert candidate([9, 1, 2]) == 8


def check_moving_average(candidate):
    assert candidate([1.0, 2.0, 3.0, 4.0], 2) == [1.5, 2.5, 3.5]
    assert candidate([4.0, 6.0], 1) == [4.0, 6.0]
    assert candidate([1.0, 2.0], 3) == []
    assert candidate([1.0, 2.0], 0) == []


def check_fill_gaps(candidate):
    assert candidate([None, 3, None, None, 5], 0) == [0, 3, 3, 3, 5]
    assert candidate([1, 2], 7) == [1, 2]
    assert candidate([None, None], 4) == [4, 4]
    assert candidate([], 4) == []


def check_clamp_all(candidate):
    assert candidate([1, 5, 9], 2, 8) == [2, 5, 8]
    assert candidate([], 0, 1) == []
    assert candidate([-4, 0, 4], -1, 1) == [-1, 0, 1]
    assert candidate([3, 2, 1, 0], 1, 2) == [2, 2, 1, 1]


def check_first_alarm(candidate):
    assert candidate([1, 5, 9], 4) == 1
    assert candidate([1, 2], 9) == -1
    assert candidate([], 0) == -1
    assert candidate([7, 8, 9], 6) == 0


def check_longest_rise(candidate):
    assert candidate([1, 2, 2, 3, 4, 5]) == 4
    assert candidate([5, 4, 3]) == 1
    assert candidate([]) == 0
    assert candidate([1, 2, 3, 1, 2]) == 3


def check_level_of(candidate):
    assert candidate(-3) == "off"
    assert candidate(0) == "off"
    assert candidate(4) == "low"
    assert candidate(10) == "normal"
    assert candidate(49) == "normal"
    assert candidate(50) == "high"


def check_squared_sum(candidate):
    assert candidate([1, 2, 3]) == 14
    assert candidate([]) == 0
    assert candidate([-4, 2]) == 20
    assert candidate([0, 7]) == 49


def check_positive_readings(candidate):
    assert candidate([3, -1, 0, 8]) == [3, 8]
    assert candidate([]) == []
    assert candidate([-1, -2]) == []
    assert candidate([5, 4, 3, 0, 1]) == [5, 4, 3, 1]
