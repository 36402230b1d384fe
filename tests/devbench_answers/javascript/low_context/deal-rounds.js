const assert = require('assert');

/** Yields hands of cards: one card for each player in turn, `each` times; the deck is never asked for more. */
function deal(deck, players, each) {
  const hands = Array.from({ length: players }, () => []);
  const cards = deck[Symbol.iterator]();
  for (let dealt = 0; dealt < players * each; dealt += 1) {
    const { done, value } = cards.ne⟦xt();
    if (done) throw new RangeError('the deck is too small');
    hands[dealt % players].push(value);
  }
  return hands;
}⟧
⟦tests⟧
assert.deepStrictEqual(deal('abcdefg', 3, 2), [['a', 'd'], ['b', 'e'], ['c', 'f']]);
assert.deepStrictEqual(deal([1, 2, 3], 1, 3), [[1, 2, 3]]);
assert.deepStrictEqual(deal([], 2, 0), [[], []]);
assert.deepStrictEqual(deal([undefined, null], 2, 1), [[undefined], [null]]);
assert.throws(() => deal([1, 2, 3], 2, 2), /^RangeError: the deck is too small$/);

let drawn = 0;
function* shoe() {
  for (;;) yield (drawn += 1);
}
assert.deepStrictEqual(deal(shoe(), 2, 2), [[1, 3], [2, 4]]);
assert.strictEqual(drawn, 4);
