'use strict';

const assert = require('assert');
const { Readable, Transform, Writable } = require('stream');
const { pipeline } = require('stream/promises');
const { StringDecoder } = require('string_decoder');

/**
 * Turns bytes into the objects of newline-delimited JSON, one chunk an object. Chunks of bytes may end anywhere,
 * in the middle of a line or of a character. Blank lines are skipped; the last line needs no newline.
 * A line that is no JSON fails the stream with its number.
 */
class NdjsonParser extends Transform {
  constructor() {
    super({ readableObjectMode: true });
    this.decoder = new StringDecoder('utf8');
    this.rest = '';
    this.lineNumber = 0;
  }

  pushLine(line) {
    this.lineNumber += 1;
    if (line.trim() === '') return;
    try {
      this.push(JSON.parse(line));
    } catch (error) {
      throw new SyntaxError(`line ${this.lineNumber}: ${error.message}`);
    }
  }

⟦  _transform(chunk, encoding, callback) {
    const lines = (this.rest + this.decoder.write(chunk)).split('\n');
    this.rest = lines.pop();
    try {
      lines.forEach((line) => this.pushLine(line));
      callback();
    } catch (fault) {
      callback(fault);
    }
  }
⟧
  _flush(callback) {
    try {
      this.pushLine(this.rest + this.decoder.end());
      callback();
    } catch (error) {
      callback(error);
    }
  }
}

/** All objects of a source of byte chunks. */
async function readAll(chunks) {
  const objects = [];
  const collect = new Writable({
    objectMode: true,
    write(object, encoding, callback) {
      objects.push(object);
      callback();
    },
  });
  await pipeline(Readable.from(chunks, { objectMode: false }), new NdjsonParser(), collect);
  return objects;
}
⟦tests⟧
let finished = false;
process.on('exit', () => assert.ok(finished, 'the tests did not come to their end'));

(async () => {
  const text = '{"id":1,"name":"Zoë"}\n\n{"id":2,"tags":["a","b"]}\n{"id":3}';
  const expected = [{ id: 1, name: 'Zoë' }, { id: 2, tags: ['a', 'b'] }, { id: 3 }];
  const bytes = Buffer.from(text);
  assert.deepStrictEqual(await readAll([bytes]), expected);
  for (const size of [1, 2, 7, 20]) {
    const chunks = [];
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
    assert.deepStrictEqual(await readAll(chunks), expected, `chunks of ${size}`);
  }
  assert.deepStrictEqual(await readAll([Buffer.from('[1]\n[2]\n')]), [[1], [2]]);
  assert.deepStrictEqual(await readAll([Buffer.from('\n')]), []);
  await assert.rejects(readAll([Buffer.from('{"id":1}\n{"id":\n{"id":3}\n')]), /^SyntaxError: line 2: /);
  await assert.rejects(readAll([Buffer.from('{}\n{}\n\n{"cut')]), /^SyntaxError: line 4: /);
  finished = true;
})();
