import assert from 'assert';

/** A part of a file, both ends included, as in a `Content-Range` header. */
export interface ByteRange {
  first: number;
  last: number;
}

/** What a request for a part of a file comes to. */
export type RangeOutcome =
  | { status: 200 }
  | { status: 206; range: ByteRange }
  | { status: 416 };

export function contentRange(range: ByteRange, size: number): string {
  return `bytes ${range.first}-${range.last}/${size}`;
}

/**
 * Decides how to answer a request for a file, from its `Range` header.
 *
 * Three forms are understood: `bytes=100-199` asks for both ends and all between them, `bytes=100-` for everything
 * from there on, and `bytes=-100` for the last 100 bytes. A last position behind the end of the file means the
 * end of the file, and a suffix longer than the file means the whole file.
 *
 * A range that begins behind the end of the file, and a suffix of 0 bytes, cannot be satisfied: 416. Everything else is
 * not understood (other units, several ranges, a first position after the last one, no position at all), or there is no header:
 * then the whole file is sent, 200.
 *
 * @param header - the value of the header, undefined if the request has none
 * @param size - the size of the file in bytes, greater than 0
 * @returns the status, and for 206 the range to send
 */
export function parseRange(header: string | undefined, size: number): RangeOutcome {
⟦  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (match === null || (match[1] === '' && match[2] === '')) {
    return { status: 200 };
  }
  if (match[1] === '') {
    const length = Number(match[2]);
    if (length === 0) return { status: 416 };
    return { status: 206, range: { first: Math.max(size - length, 0), last: size - 1 } };
  }
  const first = Number(match[1]);
  const last = match[2] === '' ? Infinity : Number(match[2]);
  if (first > last) return { status: 200 };
  if (first >= size) return { status: 416 };
  return { status: 206, range: { first, last: Math.min(last, size - 1) } };
}⟧
⟦tests⟧
const part = (first: number, last: number): RangeOutcome => ({ status: 206, range: { first, last } });
const whole: RangeOutcome = { status: 200 };
const unsatisfiable: RangeOutcome = { status: 416 };
const cases: [string | undefined, number, RangeOutcome][] = [
  ['bytes=0-499', 1000, part(0, 499)],
  ['bytes=0-0', 1000, part(0, 0)],
  ['bytes=500-', 1000, part(500, 999)],
  ['bytes=999-', 1000, part(999, 999)],
  ['bytes=1000-', 1000, unsatisfiable],
  ['bytes=1000-2000', 1000, unsatisfiable],
  ['bytes=900-5000', 1000, part(900, 999)],
  ['bytes=-1', 1000, part(999, 999)],
  ['bytes=-300', 1000, part(700, 999)],
  ['bytes=-1000', 1000, part(0, 999)],
  ['bytes=-4000', 1000, part(0, 999)],
  ['bytes=-0', 1000, unsatisfiable],
  ['bytes=500-499', 1000, whole],
  ['bytes=-', 1000, whole],
  ['bytes=', 1000, whole],
  ['bytes=0-1,5-9', 1000, whole],
  ['items=0-4', 1000, whole],
  ['bytes=a-b', 1000, whole],
  [undefined, 1000, whole],
  ['', 1000, whole],
];
for (const [header, size, expected] of cases) {
  assert.deepStrictEqual(parseRange(header, size), expected, String(header));
}
assert.strictEqual(contentRange({ first: 0, last: 9 }, 20), 'bytes 0-9/20');
