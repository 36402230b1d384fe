import assert from 'assert';

/** Checks of settings that operators write by hand: every problem is reported, with the place where it is. */
interface Problem {
  path: string;
  message: string;
}

type Checked<T> = { value: T; problems: [] } | { value?: undefined; problems: Problem[] };
type Check<T> = (input: unknown, path: string) => Checked<T>;
type TypeOf<C> = C extends Check<infer T> ? T : never;

function accept<T>(value: T): Checked<T> {
  return { value, problems: [] };
}

function reject<T>(path: string, message: string): Checked<T> {
  return { problems: [{ path, message }] };
}

const text: Check<string> = (input, path) =>
  typeof input === 'string' ? accept(input) : reject(path, 'expected a text');

const count: Check<number> = (input, path) =>
  typeof input === 'number' && Number.isInteger(input) && input >= 0
    ? accept(input)
    : reject(path, 'expected a whole number');

/** A list whose items all pass `item`. */
function listOf<T>(item: Check<T>): Check<T[]> {
  return (input, path) => {
    if (!Array.isArray(input)) return reject(path, 'expected a list');
    const values: T[] = [];
    const problems: Problem[] = [];
    input.forEach((element, index) => {
      const checked = item(element, `${path}[${index}]`);
      if (checked.problems.length === 0) values.push(checked.value as T);
      else problems.push(...checked.problems);
    });
    return problems.length === 0 ? accept(values) : { problems };
  };
}

/** A text whose parts, divided by commas, all pass `item`. */
function partsOf<T>(item: Check<T>): Check<T[]> {
  return (input, path) => {
    if (typeof input !== 'string') return reject(path, 'expected a text');
    const values: T[] = [];
    const problems: Problem[] = [];
    input.split(',').forEach((element, index) => {
      const checked = item(element.trim(), `${path}[${index}]`);
      if (checked.problems.length === 0) values.push(checked.value as T);
      else problems.push(...checked.problems);
    });
    return problems.length === 0 ? accept(values) : { problems };
  };
}

function isTable(input: unknown): input is Record<string, unknown> {
  return typeof input === 'object' && input !== null && !Array.isArray(input);
}

/** A table with any keys (`path.key` in problems) whose values all pass `item`. */
function tableOf<T>(item: Check<T>): Check<Record<string, T>> {
⟦  return (input, path) => {
    if (!isTable(input)) return reject(path, 'expected a table');
    const values: Record<string, T> = {};
    const problems: Problem[] = [];
    Object.entries(input).forEach(([key, element]) => {
      const checked = item(element, `${path}.${key}`);
      if (checked.problems.length === 0) values[key] = checked.value as T;
      else problems.push(...checked.problems);
    });
    return problems.length === 0 ? accept(values) : { problems };
  };
}
⟧
const limits = tableOf(count);
const hosts = tableOf(listOf(text));

type Limits = TypeOf<typeof limits>;
⟦tests⟧
const good = limits({ upload: 10, download: 0 }, 'limits');
assert.deepStrictEqual(good, { value: { upload: 10, download: 0 }, problems: [] });
const typed: Limits = good.value as Limits;
assert.strictEqual(typed.upload + 1, 11);
assert.deepStrictEqual(limits({}, 'limits'), { value: {}, problems: [] });

assert.deepStrictEqual(limits({ a: 1, b: -1, c: 'x', d: 4 }, 'limits').problems, [
  { path: 'limits.b', message: 'expected a whole number' },
  { path: 'limits.c', message: 'expected a whole number' },
]);
assert.strictEqual(limits({ a: 1, b: -1 }, 'limits').value, undefined);
for (const wrong of [null, undefined, 7, 'upload', [1, 2]]) {
  assert.deepStrictEqual(limits(wrong, 'limits').problems, [{ path: 'limits', message: 'expected a table' }]);
}

const input = { eu: ['a.example', 'b.example'], us: [] };
assert.deepStrictEqual(hosts(input, 'hosts'), { value: input, problems: [] });
assert.deepStrictEqual(hosts({ eu: ['a', 5, null], us: 'b', ap: ['c'] }, 'hosts').problems, [
  { path: 'hosts.eu[1]', message: 'expected a text' },
  { path: 'hosts.eu[2]', message: 'expected a text' },
  { path: 'hosts.us', message: 'expected a list' },
]);
assert.deepStrictEqual(listOf(tableOf(count))([{ a: 1 }, { b: 'c' }], 'x').problems, [
  { path: 'x[1].b', message: 'expected a whole number' },
]);
