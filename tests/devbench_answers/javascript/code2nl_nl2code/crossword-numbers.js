'use strict';

const assert = require('assert');

const BLACK = '#';

/** Whether a light (a white cell) is at a place; outside of the grid there is none. */
function isLight(grid, row, column) {
  return row >= 0 && row < grid.length && column >= 0 && column < grid[row].length && grid[row][column] !== BLACK;
}

/**
 * Numbers a crossword, row by row and from left to right, beginning with 1.
 *
 * A cell gets the next number if an entry begins in it. An entry across begins in a light whose left neighbour is no
 * light and whose right neighbour is one; an entry down in the same way, with the cells above and below it. A cell in
 * which both begin has one number.
 *
 * @param {string[]} grid rows of equal length, `#` for a black cell
 * @returns {{across: number[], down: number[]}} the numbers of the entries in each direction, ascending
 */
function numberEntries(grid) {
⟦  const entries = { across: [], down: [] };
  let number = 0;
  grid.forEach((cells, row) => {
    for (let column = 0; column < cells.length; column += 1) {
      if (!isLight(grid, row, column)) continue;
      const across = !isLight(grid, row, column - 1) && isLight(grid, row, column + 1);
      const down = !isLight(grid, row - 1, column) && isLight(grid, row + 1, column);
      if (across || down) number += 1;
      if (across) entries.across.push(number);
      if (down) entries.down.push(number);
    }
  });
  return entries;
}⟧
⟦tests⟧
assert.deepStrictEqual(numberEntries([]), { across: [], down: [] });
assert.deepStrictEqual(numberEntries(['.']), { across: [], down: [] });
assert.deepStrictEqual(numberEntries(['...']), { across: [1], down: [] });
assert.deepStrictEqual(numberEntries(['.', '.']), { across: [], down: [1] });
assert.deepStrictEqual(numberEntries(['..', '..']), { across: [1, 3], down: [1, 2] });
assert.deepStrictEqual(numberEntries(['.#.', '...', '.#.']), { across: [3], down: [1, 2] });
assert.deepStrictEqual(numberEntries(['##..', '....', '..##']), { across: [1, 3, 5], down: [1, 2, 3, 4] });
assert.deepStrictEqual(numberEntries(['#.#', '.#.', '#.#']), { across: [], down: [] });
