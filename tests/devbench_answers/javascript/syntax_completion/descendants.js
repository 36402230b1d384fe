'use strict';

const assert = require('assert');

/**
 * A stud book of sheep: each animal knows its dam, its sire and where it was registered. Only `id` is always there:
 *
 *   { id, parents?: [dam, sire], flock?: { name, country } }
 */
class StudBook {
  constructor(animals) {
    this.animals = animals;
  }

  /** Animals of which `id` is the dam or the sire, in the order of registration. */
  *offspring(id) {
    for (const animal of this.animals) {
      if ((animal.parents ?? []).includes(id)) yield animal;
    }
  }

  /**
   * Yields the descendants of an animal as { id, generation, country, other }: offspring are generation 1, theirs 2,
   * each before its own descendants; `other` is the other parent, null where it is not known. Animals without a flock
   * are from "unknown". Nothing below generation `deepest` is looked up.
   */
  *descendants(id, deepest = Infinity, generation = 1) {
    if (generation > deepest) return;
    for (const ⟦{ id: child, parents: [dam, sire = null], flock: { country = 'unknown' } = {} } of this.offspring(id)) {
      yield { id: child, generation, country, other: dam === id ? sire : dam };
      yield* this.descendants(child, deepest, generation + 1);
    }
  }
}
⟧
/** Number of descendants by country. */
function countries(book, id) {
  const counts = {};
  for (const animal of book.descendants(id)) {
    counts[animal.country] = (counts[animal.country] ?? 0) + 1;
  }
  return counts;
}
⟦tests⟧
const book = new StudBook([
  { id: 'E1', flock: { name: 'Hill', country: 'IS' } },
  { id: 'R1' },
  { id: 'E2', parents: ['E1', 'R1'], flock: { name: 'Hill', country: 'IS' } },
  { id: 'E3', parents: ['E2'], flock: { name: 'Bay' } },
  { id: 'R2', parents: ['E1', 'R9'], flock: { name: 'Dale', country: 'NO' } },
  { id: 'E4', parents: ['E3', 'R2'] },
]);
assert.deepStrictEqual([...book.descendants('E1')], [
  { id: 'E2', generation: 1, country: 'IS', other: 'R1' },
  { id: 'E3', generation: 2, country: 'unknown', other: null },
  { id: 'E4', generation: 3, country: 'unknown', other: 'R2' },
  { id: 'R2', generation: 1, country: 'NO', other: 'R9' },
  { id: 'E4', generation: 2, country: 'unknown', other: 'E3' },
]);
assert.deepStrictEqual([...book.descendants('R1', 1)], [{ id: 'E2', generation: 1, country: 'IS', other: 'E1' }]);
assert.deepStrictEqual([...book.descendants('E4')], []);
assert.deepStrictEqual([...book.descendants('E1', 0)], []);
assert.deepStrictEqual(countries(book, 'E1'), { IS: 1, unknown: 3, NO: 1 });
