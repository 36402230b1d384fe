import assert from 'assert';

interface Page<T> {
  items: readonly T[];
  next: string | null;
}

interface PageClient<T> {
  open(): Promise<void>;
  fetch(cursor: string | null): Promise<Page<T>>;
  close(): Promise<void>;
}

class RateLimited extends Error {
  constructor(readonly retryAfterMs: number) {
    super(`rate limited for ${retryAfterMs} ms`);
  }
}

interface Options {
  /** How often one page may be refused by the rate limit before the error is passed on. */
  patience: number;
  sleep: (milliseconds: number) => Promise<void>;
}

/**
 * Yields all items of all pages, one by one, beginning with the cursor null. A page that is refused by the rate limit
 * is fetched again after the time it asks for. The client is closed in the end, also if the caller stops early or
 * a page fails.
 */
async function* readAll<T>(client: PageClient<T>, { patience, sleep }: Options): AsyncGenerator<T, number, undefined> {
  let pages = 0;
  let cursor: string | null = null;
  await client.open();
  try {
    do {
      let page: Page<T> | undefined;
⟦      for (let refused = 0; page === undefined; ) {
        try {
          page = await client.fetch(cursor);
        } catch (error) {
          if (!(error instanceof RateLimited) || ++refused > patience) {
            throw error;
          }
          await sleep(error.retryAfterMs);
        }
      }
      yield* page.items;
      pages += 1;
      cursor = page.next;
    } while (cursor !== null);
  } finally {
    await client.close();
  }
⟧  return pages;
}

async function take<T>(source: AsyncGenerator<T, unknown, undefined>, count: number): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of source) {
    taken.push(item);
    if (taken.length >= count) break;
  }
  return taken;
}
⟦tests⟧
let finished = false;
process.on('exit', () => assert.ok(finished, 'the tests did not come to their end'));

type Answer = Page<number> | Error;

function fake(answers: Answer[]): PageClient<number> & { log: string[] } {
  const log: string[] = [];
  return {
    log,
    open: async () => { log.push('open'); },
    close: async () => { log.push('close'); },
    fetch: async (cursor) => {
      log.push(`fetch ${cursor}`);
      const answer = answers.shift();
      if (answer === undefined) throw new Error('no more pages');
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

async function main(): Promise<void> {
  const slept: number[] = [];
  const options = (patience: number): Options => ({ patience, sleep: async (ms) => { slept.push(ms); } });

  let client = fake([{ items: [1, 2], next: 'b' }, { items: [], next: 'c' }, { items: [3], next: null }]);
  const source = readAll(client, options(0));
  const seen: number[] = [];
  let step = await source.next();
  while (!step.done) {
    seen.push(step.value as number);
    step = await source.next();
  }
  assert.deepStrictEqual(seen, [1, 2, 3]);
  assert.strictEqual(step.value, 3);
  assert.deepStrictEqual(client.log, ['open', 'fetch null', 'fetch b', 'fetch c', 'close']);

  // Patience counts for each page anew.
  client = fake([
    new RateLimited(5), new RateLimited(7), { items: [1], next: 'b' },
    new RateLimited(9), new RateLimited(2), { items: [2], next: null },
  ]);
  assert.deepStrictEqual(await take(readAll(client, options(2)), 99), [1, 2]);
  assert.deepStrictEqual(slept, [5, 7, 9, 2]);
  assert.deepStrictEqual(client.log.slice(0, 4), ['open', 'fetch null', 'fetch null', 'fetch null']);

  client = fake([{ items: [1], next: 'b' }, new RateLimited(1), new RateLimited(1), { items: [2], next: null }]);
  await assert.rejects(take(readAll(client, options(1)), 99), RateLimited);
  assert.deepStrictEqual(client.log, ['open', 'fetch null', 'fetch b', 'fetch b', 'close']);

  client = fake([{ items: [1, 2], next: 'b' }, new Error('gone')]);
  await assert.rejects(take(readAll(client, options(5)), 99), /gone/);
  assert.strictEqual(client.log.filter((entry) => entry === 'close').length, 1);
  assert.strictEqual(client.log.length, 4);

  client = fake([{ items: [1, 2], next: 'b' }]);
  assert.deepStrictEqual(await take(readAll(client, options(5)), 1), [1]);
  assert.deepStrictEqual(client.log, ['open', 'fetch null', 'close']);
  finished = true;
}

main();
