import assert from 'assert';

type Outcome<T, E> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: E };

/** Parts outcomes into the values of those that are done and the errors of those that failed, in their order. */
function partition<T, E>(outcomes: Iterable<Outcome<T, E>>): { values: T[]; errors: E[] } {
  const values: T[] = [];
  const errors: E[] = [];
  ⟦for (const outcome of outcomes) {
    if (outcome.kind === 'done') values.push(outcome.value);
    else errors.push(outcome.error);
  }
  return { values, errors };
}⟧
⟦tests⟧
type Port = Outcome<number, string>;
const parsePort = (text: string): Port => {
  const port = Number(text);
  return port > 0 && port < 65536 ? { kind: 'done', value: port } : { kind: 'failed', error: `bad port ${text}` };
};
const ports = partition(['80', 'http', '443', '0', '8080'].map(parsePort));
assert.deepStrictEqual(ports, { values: [80, 443, 8080], errors: ['bad port http', 'bad port 0'] });
const sum: number = ports.values.reduce((left, right) => left + right, 0);
assert.strictEqual(sum, 8603);
assert.deepStrictEqual(partition([]), { values: [], errors: [] });

const falsy: Outcome<number | null, string>[] = [
  { kind: 'done', value: 0 },
  { kind: 'failed', error: '' },
  { kind: 'done', value: null },
];
assert.deepStrictEqual(partition(falsy), { values: [0, null], errors: [''] });
assert.deepStrictEqual(partition(new Set(['7', 'x'].map(parsePort))), { values: [7], errors: ['bad port x'] });
