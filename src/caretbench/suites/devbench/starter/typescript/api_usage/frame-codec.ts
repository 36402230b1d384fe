import assert from 'assert';
import { createHash } from 'crypto';

/*
 * Frames of a file-sync protocol (all integers big-endian):
 *
 *   offset  size  field
 *   0       2     magic 0x5359
 *   2       1     kind
 *   3       1     flags
 *   4       4     length of the body in bytes
 *   8       4     first four bytes of the SHA-256 of the body
 *   12      n     body, UTF-8
 */
const MAGIC = 0x5359;
const HEADER_SIZE = 12;

enum Kind {
  Hello = 1,
  Have = 2,
  Want = 3,
}

interface Frame {
  kind: Kind;
  flags: number;
  body: string;
}

class ProtocolError extends Error {}

function checksum(body: Buffer): Buffer {
  return createHash('sha256').update(body).digest().subarray(0, 4);
}

function encode(frame: Frame): Buffer {
  const body = Buffer.from(frame.body, 'utf8');
  const header = Buffer.alloc(HEADER_SIZE);
⟦  header.writeUInt16BE(MAGIC, 0);
  header.writeUInt8(frame.kind, 2);
  header.writeUInt8(frame.flags, 3);
  header.writeUInt32BE(body.length, 4);
  checksum(body).copy(header, 8);
⟧  return Buffer.concat([header, body]);
}

/** The first frame of the bytes received so far and what follows it; null while it is incomplete. */
function decode(received: Buffer): { frame: Frame; rest: Buffer } | null {
  if (received.length < HEADER_SIZE) return null;
  if (received.readUInt16BE(0) !== MAGIC) throw new ProtocolError('not a frame');
  const end = HEADER_SIZE + received.readUInt32BE(4);
  if (received.length < end) return null;
  const body = received.subarray(HEADER_SIZE, end);
  if (!checksum(body).equals(received.subarray(8, 12))) throw new ProtocolError('checksum mismatch');
  const frame = { kind: received[2] as Kind, flags: received[3], body: body.toString('utf8') };
  return { frame, rest: received.subarray(end) };
}
⟦tests⟧
const hello = encode({ kind: Kind.Hello, flags: 0x81, body: 'device=ü7' });
assert.strictEqual(hello.length, 12 + 10);
assert.strictEqual(hello.subarray(0, 8).toString('hex'), '535901810000000a');
assert.strictEqual(
  hello.subarray(8, 12).toString('hex'),
  createHash('sha256').update('device=ü7').digest('hex').slice(0, 8),
);
assert.strictEqual(hello.subarray(12).toString(), 'device=ü7');
assert.strictEqual(encode({ kind: Kind.Have, flags: 0, body: '' }).toString('hex'), '5359020000000000e3b0c442');

const frames: Frame[] = [
  { kind: Kind.Have, flags: 0, body: 'x'.repeat(70000) },
  { kind: Kind.Want, flags: 255, body: '' },
  { kind: Kind.Hello, flags: 1, body: '{"a":1}' },
];
let stream = Buffer.concat(frames.map(encode));
const decoded: Frame[] = [];
for (let next = decode(stream); next !== null; next = decode(stream)) {
  decoded.push(next.frame);
  stream = Buffer.from(next.rest);
}
assert.deepStrictEqual(decoded, frames);
assert.strictEqual(stream.length, 0);

assert.strictEqual(decode(hello.subarray(0, 21)), null);
const damaged = Buffer.from(hello);
damaged[15] ^= 1;
assert.throws(() => decode(damaged), /checksum mismatch/);
damaged[0] = 0;
assert.throws(() => decode(damaged), /not a frame/);
