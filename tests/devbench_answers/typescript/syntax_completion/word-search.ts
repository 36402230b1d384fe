import assert from 'assert';

interface Place {
  readonly row: number;
  readonly column: number;
  readonly direction: Direction;
}

type Direction = keyof typeof STEPS;

/** Rows and columns of one step, by the points of the compass; south is down. */
const STEPS = {
  east: [0, 1],
  southeast: [1, 1],
  south: [1, 0],
  west: [0, -1],
} as const;

/**
 * Finds a word in a puzzle of letters: the first place, row by row and from left to right, and of the directions that
 * begin there the first one of STEPS. A word may not leave the puzzle, and a word without letters is nowhere.
 */
function find(puzzle: readonly string[], word: string): Place | null {
  if (word === '') return null;
  for (let row = 0; row < puzzle.length; row += 1) {
    for (let column = 0; column < puzzle[row].length; column += 1) {
⟦      search: for (const direction of Object.keys(STEPS) as Direction[]) {
        const [down, right] = STEPS[direction];
        for (let letter = 0; letter < word.length; letter += 1) {
          if (puzzle[row + letter * down]?.[column + letter * right] !== word[letter]) {
            continue search;
          }
        }
        return { row, column, direction };
      }
    }
  }
  return null;
}
⟧
/** Words that are nowhere in the puzzle. */
function missing(puzzle: readonly string[], words: readonly string[]): string[] {
  return words.filter((word) => find(puzzle, word) === null);
}
⟦tests⟧
const letters = ['tarn', 'aide', 'rdfe', 'ntot'];
assert.deepStrictEqual(find(letters, 'tarn'), { row: 0, column: 0, direction: 'east' });
assert.deepStrictEqual(find(letters, 'tift'), { row: 0, column: 0, direction: 'southeast' });
assert.deepStrictEqual(find(letters, 'neet'), { row: 0, column: 3, direction: 'south' });
assert.deepStrictEqual(find(letters, 'totn'), { row: 3, column: 3, direction: 'west' });
assert.deepStrictEqual(find(letters, 'dia'), { row: 1, column: 2, direction: 'west' });
assert.deepStrictEqual(find(letters, 'f'), { row: 2, column: 2, direction: 'east' });
assert.deepStrictEqual(find(['no', 'on'], 'oo'), null);
assert.deepStrictEqual(missing(letters, ['ide', 'tarns', 'tar', '', 'dd']), ['tarns', '', 'dd']);
assert.strictEqual(find([], 'a'), null);
