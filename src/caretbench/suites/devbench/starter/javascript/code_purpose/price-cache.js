'use strict';

const assert = require('assert');

/**
 * Prices of a supplier whose service is slow, dear and sometimes down. The shop would rather show a price that is a
 * little old than none, and never asks twice for the same article at the same time.
 */
class PriceCache {
  constructor(fetchPrice, { freshFor, clock }) {
    this.fetchPrice = fetchPrice;
    this.freshFor = freshFor;
    this.clock = clock;
    this.entries = new Map();
    this.pending = new Map();
    this.failures = 0;
  }

  isFresh(entry) {
    return entry !== undefined && this.clock() - entry.at < this.freshFor;
  }

  store(sku, price) {
    this.entries.set(sku, { price, at: this.clock() });
    return price;
  }

  /** Asks the supplier; those who ask meanwhile share the answer. */
  load(sku) {
    if (!this.pending.has(sku)) {
      const request = Promise.resolve()
        .then(() => this.fetchPrice(sku))
        .then((price) => this.store(sku, price))
        .finally(() => this.pending.delete(sku));
      this.pending.set(sku, request);
    }
    return this.pending.get(sku);
  }

  /** The price of an article: the fresh one, else the supplier's, else (if that fails) the last one known. */
  async price(sku) {
⟦    const entry = this.entries.get(sku);
    if (this.isFresh(entry)) {
      return entry.price;
    }
    try {
      return await this.load(sku);
    } catch (error) {
      this.failures += 1;
      if (entry === undefined) {
        throw error;
      }
      return entry.price;
    }
⟧  }

  async total(lines) {
    const prices = await Promise.all(lines.map(({ sku }) => this.price(sku)));
    return lines.reduce((sum, { quantity }, index) => sum + quantity * prices[index], 0);
  }

  /** For the status page. */
  health() {
    return { known: this.entries.size, failures: this.failures };
  }
}
⟦tests⟧
let finished = false;
process.on('exit', () => assert.ok(finished, 'the tests did not come to their end'));

(async () => {
  let now = 1000;
  let down = false;
  const asked = [];
  const prices = { mug: 900, tray: 2100 };
  const cache = new PriceCache(
    async (sku) => {
      asked.push(sku);
      if (down) throw new Error('supplier is down');
      return prices[sku];
    },
    { freshFor: 60, clock: () => now },
  );

  const basket = [{ sku: 'mug', quantity: 2 }, { sku: 'tray', quantity: 1 }, { sku: 'mug', quantity: 1 }];
  assert.strictEqual(await cache.total(basket), 4800);
  assert.deepStrictEqual(asked, ['mug', 'tray']);

  prices.mug = 950;
  now += 59;
  assert.strictEqual(await cache.price('mug'), 900);
  assert.strictEqual(asked.length, 2);
  now += 1;
  assert.strictEqual(await cache.price('mug'), 950);
  assert.deepStrictEqual(asked, ['mug', 'tray', 'mug']);

  down = true;
  now += 3600;
  assert.strictEqual(await cache.price('mug'), 950);
  assert.deepStrictEqual(cache.health(), { known: 2, failures: 1 });
  assert.strictEqual(await cache.price('mug'), 950);
  assert.strictEqual(asked.length, 5, 'an old price does not become fresh by a failure');
  await assert.rejects(cache.price('vase'), /supplier is down/);
  assert.deepStrictEqual(cache.health(), { known: 2, failures: 3 });

  down = false;
  prices.mug = 0;
  assert.strictEqual(await cache.price('mug'), 0);
  now += 10;
  assert.strictEqual(await cache.price('mug'), 0);
  assert.strictEqual(asked.length, 7);
  finished = true;
})();
