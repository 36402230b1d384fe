'use strict';

const assert = require('assert');
const { parseArgs } = require('util');

/** Wrong use of the command line of the yarn calculator. */
class UsageError extends Error {}

const GRAMS_PER_SKEIN = 50;

/**
 * Reads the command line of the calculator.
 *
 *   --gauge, -g TEXT     stitches per 10 cm, needed
 *   --colour, -c TEXT    any number of times, in the order of use
 *   --loose, -l          knit loosely
 *   and one argument: the name of the garment
 *
 * Unknown options, and a garment that is missing or given twice, are errors of use.
 */
function readCommandLine(args) {
  let parsed;
  try {
    parsed = ⟦parseArgs({
      args,
      allowPositionals: true,
      options: {
        gauge: { type: 'string', short: 'g' },
        colour: { type: 'string', short: 'c', multiple: true, default: [] },
        loose: { type: 'boolean', short: 'l', default: false },
      },
    });⟧
  } catch (error) {
    throw new UsageError(error.message);
  }
  if (parsed.positionals.length !== 1) throw new UsageError('expected one garment');
  if (!/^\d+$/.test(parsed.values.gauge ?? '')) throw new UsageError('expected a gauge in stitches');
  return { garment: parsed.positionals[0], ...parsed.values, gauge: Number(parsed.values.gauge) };
}

/** Skeins that a garment of so many square centimetres needs. */
function skeins(area, { gauge, loose }) {
  const grams = (area * gauge * (loose ? 0.9 : 1)) / 100;
  return Math.ceil(grams / GRAMS_PER_SKEIN);
}
⟦tests⟧
assert.deepStrictEqual({ ...readCommandLine(['--gauge', '22', 'scarf']) }, {
  garment: 'scarf', gauge: 22, colour: [], loose: false,
});
assert.deepStrictEqual(readCommandLine(['-c', 'moss', 'hat', '-lg', '18', '--colour=rust']), {
  garment: 'hat', gauge: 18, colour: ['moss', 'rust'], loose: true,
});
assert.strictEqual(readCommandLine(['-g', '20', '--', '-l']).garment, '-l');
for (const wrong of [[], ['hat'], ['-g', 'x', 'hat'], ['-g', '20'], ['-g', '20', 'hat', 'cap'], ['-g', '20', 'hat', '-w'], ['hat', '-g']]) {
  assert.throws(() => readCommandLine(wrong), UsageError, wrong.join(' '));
}
assert.strictEqual(skeins(2000, readCommandLine(['-g', '20', 'scarf'])), 8);
assert.strictEqual(skeins(2000, readCommandLine(['-l', '-g', '20', 'scarf'])), 8);
assert.strictEqual(skeins(2600, readCommandLine(['-l', '-g', '20', 'scarf'])), 10);
