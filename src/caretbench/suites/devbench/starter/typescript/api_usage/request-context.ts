import * as assert from 'assert';
import { AsyncLocalStorage } from 'async_hooks';
import { randomUUID } from 'crypto';

interface RequestContext {
  readonly requestId: string;
  readonly user: string | null;
  readonly fields: Record<string, unknown>;
}

interface LogRecord {
  message: string;
  requestId?: string;
  user?: string | null;
  [field: string]: unknown;
}

interface IncomingRequest {
  headers: Record<string, string | undefined>;
}

const storage = new AsyncLocalStorage<RequestContext>();

/**
 * Runs a handler with a context of its own, seen by everything that the handler calls or awaits and by nothing else.
 * The id comes from the header `x-request-id` if the caller sent one, else it is a new UUID; the user from `x-user`.
 */
function withRequest<T>(request: IncomingRequest, handler: () => Promise<T>): Promise<T> {
⟦  const context: RequestContext = {
    requestId: request.headers['x-request-id'] ?? randomUUID(),
    user: request.headers['x-user'] ?? null,
    fields: {},
  };
  return storage.run(context, handler);
⟧}

/** Adds a field to every later record of this request; outside of a request there is nothing to add to. */
function annotate(name: string, value: unknown): void {
  const context = storage.getStore();
  if (context) context.fields[name] = value;
}

function record(message: string): LogRecord {
  const context = storage.getStore();
  if (!context) return { message };
  return { message, requestId: context.requestId, user: context.user, ...context.fields };
}
⟦tests⟧
let finished = false;
process.on('exit', () => assert.ok(finished, 'the tests did not come to their end'));
const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

async function order(id: number, milliseconds: number): Promise<LogRecord> {
  annotate('order', id);
  await pause(milliseconds);
  return record('stored');
}

async function main(): Promise<void> {
  assert.deepStrictEqual(record('boot'), { message: 'boot' });
  annotate('lost', true);

  const [first, second, third] = await Promise.all([
    withRequest({ headers: { 'x-request-id': 'r-1', 'x-user': 'ada' } }, () => order(1, 6)),
    withRequest({ headers: { 'x-request-id': 'r-2' } }, () => order(2, 1)),
    withRequest({ headers: { 'x-user': 'bo' } }, async () => record('bare')),
  ]);
  assert.deepStrictEqual(first, { message: 'stored', requestId: 'r-1', user: 'ada', order: 1 });
  assert.deepStrictEqual(second, { message: 'stored', requestId: 'r-2', user: null, order: 2 });
  assert.strictEqual(third.user, 'bo');
  assert.match(String(third.requestId), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.ok(!('order' in third) && !('lost' in third));

  const outer = await withRequest({ headers: { 'x-request-id': 'outer' } }, async () => {
    const inner = await withRequest({ headers: { 'x-request-id': 'inner' } }, async () => record('in'));
    assert.strictEqual(inner.requestId, 'inner');
    return record('out');
  });
  assert.strictEqual(outer.requestId, 'outer');

  const ids = await Promise.all([1, 2, 3].map(() => withRequest({ headers: {} }, async () => record('x').requestId)));
  assert.strictEqual(new Set(ids).size, 3);
  await assert.rejects(withRequest({ headers: {} }, async () => { throw new Error('handler failed'); }), /handler failed/);
  assert.deepStrictEqual(record('idle'), { message: 'idle' });
  finished = true;
}

main();
