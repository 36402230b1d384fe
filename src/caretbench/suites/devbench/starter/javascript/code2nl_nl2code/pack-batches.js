'use strict';

const assert = require('assert');

class RecordTooLarge extends RangeError {
  constructor(index, bytes) {
    super(`record ${index} has ${bytes} bytes`);
    this.index = index;
  }
}

const sizeOf = (record) => Buffer.byteLength(JSON.stringify(record));

/** Sends everything, one request after another, and gives the number of requests. */
async function sendAll(records, limits, send) {
  const batches = packBatches(records, limits);
  for (const batch of batches) {
    await send(batch);
  }
  return batches.length;
}

/**
 * Packs records into batches for the ingestion service, which limits both the number of records in a
 * request and its size.
 *
 * The order of the records is kept, also across batches, and every batch takes as many as fit: a new one is begun
 * only if the next record would break a limit. No batch is empty.
 *
 * The size of a batch is the sum of the sizes of its records (`sizeOf`) plus one byte between two neighbours.
 *
 * @param {object[]} records what is to be sent
 * @param {{maxRecords: number, maxBytes: number}} limits of one batch, both inclusive
 * @returns {object[][]} the batches
 * @throws {RecordTooLarge} with the index of the first record that is larger than a whole batch may be
 */
function packBatches(records, { maxRecords, maxBytes }) {
⟦  const batches = [];
  let current = [];
  let used = 0;
  records.forEach((record, index) => {
    const bytes = sizeOf(record);
    if (bytes > maxBytes) {
      throw new RecordTooLarge(index, bytes);
    }
    if (current.length > 0 && (current.length === maxRecords || used + 1 + bytes > maxBytes)) {
      batches.push(current);
      current = [];
      used = 0;
    }
    used += bytes + (current.length > 0 ? 1 : 0);
    current.push(record);
  });
  if (current.length > 0) {
    batches.push(current);
  }
  return batches;
}⟧
⟦tests⟧
const wide = { maxRecords: 3, maxBytes: 1000 };
const record = (text) => ({ t: text }); // 8 bytes more than the text

assert.deepStrictEqual(packBatches([], wide), []);
assert.deepStrictEqual(packBatches([{ a: 1 }], wide), [[{ a: 1 }]]);
const seven = [1, 2, 3, 4, 5, 6, 7].map((n) => ({ n }));
assert.deepStrictEqual(packBatches(seven, wide), [seven.slice(0, 3), seven.slice(3, 6), seven.slice(6)]);
assert.deepStrictEqual(packBatches(seven.slice(0, 6), wide).map((batch) => batch.length), [3, 3]);

// Two records of 10 bytes and the byte between them.
const pair = [record('xy'), record('zz')];
assert.deepStrictEqual(packBatches(pair, { maxRecords: 9, maxBytes: 21 }), [pair]);
assert.deepStrictEqual(packBatches(pair, { maxRecords: 9, maxBytes: 20 }), [[pair[0]], [pair[1]]]);

// The separator counts anew in every batch: 10 + 1 + 10, then 10 + 1 + 10 again.
const four = [...pair, ...pair];
assert.deepStrictEqual(packBatches(four, { maxRecords: 9, maxBytes: 21 }), [pair, pair]);
assert.deepStrictEqual(packBatches(four, { maxRecords: 9, maxBytes: 32 }).map((b) => b.length), [3, 1]);
assert.deepStrictEqual(packBatches(four, { maxRecords: 9, maxBytes: 31 }), [pair, pair]);
// A small record may not overtake a large one.
const mixed = [record('a'.repeat(20)), record('b'.repeat(20)), record('c')];
assert.deepStrictEqual(packBatches(mixed, { maxRecords: 9, maxBytes: 40 }), [[mixed[0]], [mixed[1], mixed[2]]]);

// Bytes count, not characters.
assert.deepStrictEqual(packBatches([record('éé'), record('éé')], { maxRecords: 9, maxBytes: 24 }).length, 2);
assert.deepStrictEqual(packBatches([record('éé'), record('éé')], { maxRecords: 9, maxBytes: 25 }).length, 1);
assert.deepStrictEqual(packBatches([record('xy')], { maxRecords: 9, maxBytes: 10 }).length, 1);
assert.throws(
  () => packBatches([record('x'), record('xyz'), record('xyzzy')], { maxRecords: 9, maxBytes: 10 }),
  (error) => error instanceof RecordTooLarge && error.index === 1,
);

let finished = false;
process.on('exit', () => assert.ok(finished, 'the tests did not come to their end'));
const sent = [];
sendAll(seven, wide, async (batch) => sent.push(...batch)).then((requests) => {
  assert.strictEqual(requests, 3);
  assert.deepStrictEqual(sent, seven);
  finished = true;
});
