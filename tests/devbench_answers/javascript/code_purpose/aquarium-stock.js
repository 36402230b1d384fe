'use strict';

const assert = require('assert');

const SPECIES = {
  tetra: { litres: 4, degrees: [22, 28], school: 6 },
  loach: { litres: 10, degrees: [20, 26], school: 4 },
  betta: { litres: 15, degrees: [24, 30], school: 1, loner: true },
  goldfish: { litres: 40, degrees: [10, 22], school: 2 },
};

/** Why fish cannot move into a tank; `reason` is one word. */
class Refusal extends Error {
  constructor(reason) {
    super(`the fish cannot move in: ${reason}`);
    this.reason = reason;
  }
}

/** A tank of the shop's display, with the fish that live in it. */
class Tank {
  constructor(litres, degrees) {
    this.litres = litres;
    this.degrees = degrees;
    this.fish = new Map();
  }

  count(species) {
    return this.fish.get(species) ?? 0;
  }

  /** Litres that nobody needs yet. */
  get spare() {
    return [...this.fish].reduce((left, [species, count]) => left - count * SPECIES[species].litres, this.litres);
  }

  isWarmEnoughFor(species) {
    const [coldest, warmest] = SPECIES[species].degrees;
    return this.degrees >= coldest && this.degrees <= warmest;
  }

  /** A loner lives with no second fish of its kind. */
  isTooManyFor(species, count) {
    return Boolean(SPECIES[species].loner) && this.count(species) + count > 1;
  }

  /** Moves fish in, unless a rule is against it; the first rule that is decides: warmth, company, school, room. */
  add(species, count) {
    if (!this.isWarmEnoughFor(species)) throw new Refusal('warmth');
    if (this.isTooManyFor(species, count)) throw new Refusal('company');
⟦    const together = this.count(species) + count;
    if (together < SPECIES[species].school) throw new Refusal('school');
    if (count * SPECIES[species].litres > this.spare) throw new Refusal('room');
    this.fish.set(species, together);
⟧    return this.spare;
  }
}
⟦tests⟧
const tank = new Tank(120, 24);
assert.throws(() => tank.add('goldfish', 2), { reason: 'warmth' });
assert.throws(() => tank.add('tetra', 5), { reason: 'school' });
assert.strictEqual(tank.count('tetra'), 0);
assert.strictEqual(tank.add('tetra', 6), 96);
assert.strictEqual(tank.add('tetra', 1), 92);
assert.strictEqual(tank.count('tetra'), 7);
assert.throws(() => tank.add('betta', 2), { reason: 'company' });
assert.strictEqual(tank.add('betta', 1), 77);
assert.throws(() => tank.add('betta', 1), { reason: 'company' });
assert.throws(() => tank.add('loach', 3), { reason: 'school' });
assert.throws(() => tank.add('loach', 8), { reason: 'room' });
assert.strictEqual(tank.spare, 77);

// The last litre may be used.
const small = new Tank(40, 22);
assert.strictEqual(small.add('loach', 4), 0);
assert.throws(() => small.add('loach', 1), (error) => error instanceof Refusal && error.reason === 'room');
assert.deepStrictEqual([...small.fish], [['loach', 4]]);
