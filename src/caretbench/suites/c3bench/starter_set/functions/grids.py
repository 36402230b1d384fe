"""Grids and paths: rows, columns, neighbours."""


def row_sums(grid: list[list[int]]) -> list[int]:
    """Return the sum of each row."""
    sums = []
    for row in grid:
        sums.append(sum(row))
    return sums


def transposed(grid: list[list[int]]) -> list[list[int]]:
    """Return the columns of a grid as rows; rows that are too long are cut."""
    columns = []
    for column in zip(*grid):
        columns.append(list(column))
    return columns


def count_cells(grid: list[list[int]], value: int) -> int:
    """Return how many cells have a value."""
    count = 0
    for row in grid:
        for cell in row:
            if cell == value:
                count += 1
    return count


def moves(path: str) -> tuple[int, int]:
    """Return the position after steps N, E, S and W from the origin; other letters are ignored."""
    x = 0
    y = 0
    for step in path:
        if step == "N":
            y += 1
        elif step == "S":
            y -= 1
        elif step == "E":
            x += 1
        elif step == "W":
            x -= 1
    return (x, y)


def step_name(step: str) -> str:
    """Return the name of a step."""
    if step == "N":
        return "north"
    elif step == "S":
        return "south"
    elif step == "E":
        return "east"
    elif step == "W":
        return "west"
    else:
        return "nowhere"


def distance(first: tuple[int, int], second: tuple[int, int]) -> int:
    """Return the number of steps between two cells."""
    total = 0
    for start, end in zip(first, second):
        total += abs(start - end)
    return total


def sorted_cells(grid: list[list[int]]) -> list[int]:
    """Return all cells in ascending order."""
    cells = []
    for row in grid:
        cells.extend(row)
    ordered = sorted(cells)
    return ordered


def has_path(edges: dict[int, list[int]], start: int, end: int) -> bool:
    """Return whether a node can be reached from another one."""
    seen = []
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node == end:
            return True
        if node not in seen:
            seen.append(node)
            waiting.extend(edges.get(node, []))
    return False


def border(grid: list[list[int]]) -> int:
    """Return the sum of the first and the last row."""
    if not grid:
        return 0
    total = sum(grid[0])
    if len(grid) > 1:
        total += sum(grid[-1])
    return total


def diagonal(grid: list[list[int]]) -> list[int]:
    """Return the cells from the upper left corner along the diagonal."""
    cells = []
    for place in range(len(grid)):
        if place < len(grid[place]):
            cells.append(grid[place][place])
    return cells


def spiral_order(width: int) -> list[int]:
    """Return squares of the odd numbers below a width, the largest first."""
    squares = []
    for number in range(width):
        if number % 2 == 1:
            squares.append(number * number)
    return sorted(squares, reverse=True)
