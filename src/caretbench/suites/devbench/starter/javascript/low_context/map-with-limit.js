const assert = require('assert');

/** Like Promise.all(items.map(worker)), but with at most `limit` workers under way at a time. */
async function mapWithLimit(items, limit, worker) {
  const results = new Array(items.length);
  let next = 0;
  async function lane() {
    ⟦while (next < items.length) {
      const index = next++;
      results[index] = await worker(items[index], index);
    }⟧
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
  return results;
}
⟦tests⟧
let finished = false;
process.on('exit', () => assert.ok(finished, 'the tests did not come to their end'));

(async () => {
  let running = 0;
  let most = 0;
  const started = [];
  const work = async (milliseconds, index) => {
    started.push(index);
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    running -= 1;
    return `${index}:${milliseconds}`;
  };
  const delays = [12, 1, 8, 2, 1, 4];
  assert.deepStrictEqual(await mapWithLimit(delays, 2, work), delays.map((delay, index) => `${index}:${delay}`));
  assert.strictEqual(most, 2);
  assert.deepStrictEqual([...started].sort(), [0, 1, 2, 3, 4, 5]);

  most = 0;
  await mapWithLimit(delays, 50, work);
  assert.strictEqual(most, 6);
  assert.deepStrictEqual(await mapWithLimit([], 3, work), []);
  assert.deepStrictEqual(await mapWithLimit([0, 0, undefined], 1, async (value) => value), [0, 0, undefined]);
  await assert.rejects(
    mapWithLimit([1, 2, 3], 2, async (value) => {
      if (value === 2) throw new Error('second');
      return value;
    }),
    /second/,
  );
  finished = true;
})();
