import assert from 'assert';
import { deflateRawSync, inflateRawSync } from 'zlib';

/** A nonogram as the player left it: one letter a cell, row after row. */
interface Puzzle {
  readonly width: number;
  readonly cells: string;
}

const LONGEST_CODE = 400;

class LinkError extends Error {}

function write({ width, cells }: Puzzle): string {
  return `${width}:${cells}`;
}

function read(text: string): Puzzle {
  const match = /^(\d+):([x.?]+)$/.exec(text);
  if (match === null || match[2].length % Number(match[1]) !== 0) throw new LinkError('not a puzzle');
  return { width: Number(match[1]), cells: match[2] };
}

/** The puzzle as the end of a link: packed, and only with letters that need no escape there. */
function encodePuzzle(puzzle: Puzzle): string {
  const code = deflateRawSync(write(puzzle), { level: 9 }).toString('base64url');
  if (code.length > LONGEST_CODE) throw new LinkError('the puzzle is too large for a link');
  return code;
}

/** The puzzle of a link; links are typed and cut by people, so that whatever cannot be unpacked is a LinkError. */
function decodePuzzle(code: string): Puzzle {
  let text: string;
  try {
    ⟦const packed = Buffer.from(code, 'base64url');
    text = inflateRawSync(packed, { maxOutputLength: 65536 }).toString('latin1');⟧
  } catch {
    throw new LinkError('the link is damaged');
  }
  return read(text);
}
⟦tests⟧
const puzzle: Puzzle = { width: 5, cells: 'x.x.?'.repeat(5) };
const code = encodePuzzle(puzzle);
assert.match(code, /^[\w-]+$/);
assert.ok(code.length < 30);
assert.deepStrictEqual(decodePuzzle(code), puzzle);
assert.deepStrictEqual(decodePuzzle(encodePuzzle({ width: 1, cells: '?' })), { width: 1, cells: '?' });

const large: Puzzle = { width: 200, cells: '.'.repeat(40000) };
assert.deepStrictEqual(decodePuzzle(encodePuzzle(large)), large);
const bomb = deflateRawSync('7:' + 'x'.repeat(70000)).toString('base64url');
assert.throws(() => decodePuzzle(bomb), /^Error: the link is damaged$/);
assert.throws(() => decodePuzzle(code.slice(0, -4)), LinkError);
assert.throws(() => decodePuzzle(''), LinkError);
assert.throws(() => decodePuzzle('!!!'), LinkError);
assert.throws(() => decodePuzzle(deflateRawSync('2:xxx').toString('base64url')), /not a puzzle/);
