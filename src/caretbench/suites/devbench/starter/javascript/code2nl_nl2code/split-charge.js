'use strict';

const assert = require('assert');

/**
 * Formats an amount for an invoice.
 *
 * @param {number} cents the amount, may be negative
 * @returns {string} with two decimals, such as "-12.05"
 */
function formatCents(cents) {
  const absolute = Math.abs(cents);
  return `${cents < 0 ? '-' : ''}${Math.floor(absolute / 100)}.${String(absolute % 100).padStart(2, '0')}`;
}

⟦/**
 * Splits an amount among several parties in proportion to their weights, without losing a cent.
 *
 * Every share is rounded down first; the cents that remain go one each to the parties whose shares lost most by
 * rounding, the earlier one where two lost the same.
 *
 * @param {number} totalCents the amount to split
 * @param {number[]} weights the weight of each party; none negative, at least one positive
 * @returns {number[]} the share of each party in cents, in the order of the weights; their sum is the total
 * @throws {RangeError} if a weight is negative or all are zero
 */
⟧function splitCharge(totalCents, weights) {
  const sum = weights.reduce((left, right) => left + right, 0);
  if (weights.some((weight) => weight < 0) || sum === 0) {
    throw new RangeError('weights must not be negative, nor all zero');
  }
  const exact = weights.map((weight) => (totalCents * weight) / sum);
  const shares = exact.map(Math.floor);
  const remaining = totalCents - shares.reduce((left, right) => left + right, 0);
  exact
    .map((value, index) => ({ index, lost: value - shares[index] }))
    .sort((left, right) => right.lost - left.lost || left.index - right.index)
    .slice(0, remaining)
    .forEach(({ index }) => {
      shares[index] += 1;
    });
  return shares;
}

/**
 * The lines of a shared bill.
 *
 * @param {number} totalCents the bill
 * @param {Record<string, number>} people nights stayed, by name
 * @returns {string[]} one line a person
 */
function billLines(totalCents, people) {
  const shares = splitCharge(totalCents, Object.values(people));
  return Object.keys(people).map((name, index) => `${name}: ${formatCents(shares[index])}`);
}
⟦tests⟧
assert.deepStrictEqual(splitCharge(100, [1, 1, 1]), [34, 33, 33]);
assert.deepStrictEqual(splitCharge(1000, [1, 2, 3]), [167, 333, 500]);
assert.deepStrictEqual(splitCharge(5, [0, 1]), [0, 5]);
assert.deepStrictEqual(billLines(10001, { Ana: 2, Bo: 1, Cy: 1 }), ['Ana: 50.01', 'Bo: 25.00', 'Cy: 25.00']);
assert.throws(() => splitCharge(100, [0, 0]), RangeError);
assert.throws(() => splitCharge(100, [2, -1]), RangeError);
