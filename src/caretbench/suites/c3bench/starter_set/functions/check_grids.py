"""Checks of the functions in grids.py."""


def check_row_sums(candidate):
    assert candidate([[1, 2], [3, 4]]) == [3, 7]
    assert candidate([]) == []
    assert candidate([[], [5]]) == [0, 5]


def check_transposed(candidate):
    assert candidate([[1, 2], [3, 4]]) == [[1, 3], [2, 4]]
    assert candidate([]) == []
    assert candidate([[1, 2, 3]]) == [[1], [2], [3]]


def check_count_cells(candidate):
    assert candidate([[1, 2], [2, 2]], 2) == 3
    assert candidate([], 1) == 0
    assert candidate([[0, 0, 1], [0]], 0) == 3


def check_moves(candidate):
    assert candidate("NNE") == (1, 2)
    assert candidate("") == (0, 0)
    assert candidate("SWxW") == (-2, -1)
    assert candidate("NESW") == (0, 0)


def check_step_name(candidate):
    assert candidate("N") == "north"
    assert candidate("S") == "south"
    assert candidate("E") == "east"
    assert candidate("W") == "west"
    assert candidate("x") == "nowhere"


def check_distance(candidate):
    assert candidate((0, 0), (3, 4)) == 7
    assert candidate((1, 1), (1, 1)) == 0
    assert candidate((-2, 5), (2, 3)) == 6


def check_sorted_cells(candidate):
    assert candidate([[3, 1], [2]]) == [1, 2, 3]
    assert candidate([]) == []
    assert candidate([[5, 5], [], [4, 9]]) == [4, 5, 5, 9]


def check_has_path(candidate):
    assert candidate({1: [2], 2: [3], 3: [1]}, 1, 3) is True
    assert candidate({1: [2]}, 2, 1) is False
    assert candidate({}, 4, 4) is True
    assert candidate({1: [2, 3], 3: [4]}, 1, 4) is True


def check_border(candidate):
    assert candidate([[1, 2], [3, 4], [5, 6]]) == 14
    assert candidate([[1, 2]]) == 3
    assert candidate([]) == 0


def check_diagonal(candidate):
    assert candidate([[1, 2], [3, 4]]) == [1, 4]
    assert candidate([]) == []
    assert candidate([[1], [2]]) == [1]
    assert candidate([[1, 2, 3], [4, 5, 6], [7, 8, 9]]) == [1, 5, 9]


def check_spiral_order(candidate):
    assert candidate(6) == [25, 9, 1]
    assert candidate(0) == []
    assert candidate(2) == [1]
    assert candidate(9) == [49, 25, 9, 1]
