'use strict';

const assert = require('assert');
const crypto = require('crypto');

const TOLERANCE_SECONDS = 300;

class SignatureError extends Error {}

/** The header that goes with a payload: `t=<unix seconds>,v1=<hex HMAC-SHA256 of "seconds.payload">`. */
function sign(payload, secret, seconds) {
  const digest = crypto.createHmac('sha256', secret).update(`${seconds}.${payload}`).digest('hex');
  return `t=${seconds},v1=${digest}`;
}

function parseHeader(header) {
  const parts = { signatures: [] };
  for (const item of header.split(',')) {
    const [key, value] = item.trim().split('=', 2);
    if (key === 't') parts.seconds = Number(value);
    if (key === 'v1') parts.signatures.push(value);
  }
  if (!Number.isInteger(parts.seconds) || parts.signatures.length === 0) {
    throw new SignatureError('malformed signature header');
  }
  return parts;
}

/**
 * Throws a SignatureError unless the header holds a fresh signature of the payload. While secrets are
 * being rotated a header carries several signatures: one good one is enough. Digests are compared in constant time.
 */
function verify(payload, header, secret, now) {
  const { seconds, signatures } = parseHeader(header);
  if (Math.abs(now - seconds) > TOLERANCE_SECONDS) {
    throw new SignatureError('signature is too old or from the future');
  }
⟦  const expected = crypto.createHmac('sha256', secret).update(`${seconds}.${payload}`).digest();
  const matches = signatures.some((signature) => {
    const given = Buffer.from(signature, 'hex');
    return given.length === expected.length && crypto.timingSafeEqual(given, expected);
  });
  if (!matches) {
    throw new SignatureError('no signature matches the payload');
  }
⟧}

function receive(request, secret, now) {
  verify(request.body, request.headers['x-signature'] || '', secret, now);
  return JSON.parse(request.body);
}
⟦tests⟧
const body = '{"event":"invoice.paid","amount":1999}';
const good = sign(body, 'whsec_new', 1700000000);

assert.deepStrictEqual(receive({ body, headers: { 'x-signature': good } }, 'whsec_new', 1700000010), {
  event: 'invoice.paid',
  amount: 1999,
});
verify(body, good, 'whsec_new', 1700000300);
verify(body, good, 'whsec_new', 1699999700);
assert.throws(() => verify(body, good, 'whsec_new', 1700000301), SignatureError);
assert.throws(() => verify(body, good, 'whsec_old', 1700000010), SignatureError);
assert.throws(() => verify(body.replace('1999', '1'), good, 'whsec_new', 1700000010), SignatureError);
assert.throws(() => verify(body, good.replace('t=1700000000', 't=1700000001'), 'whsec_new', 1700000010), SignatureError);

// During rotation: the second of two signatures is ours.
const old = sign(body, 'whsec_old', 1700000000);
const both = `${old},${good.split(',')[1]}`;
verify(body, both, 'whsec_new', 1700000010);
verify(body, both, 'whsec_old', 1700000010);
assert.throws(() => verify(body, both, 'whsec_other', 1700000010), SignatureError);

// Signatures of another length are wrong, not a crash.
for (const forged of ['ab', good.split('v1=')[1] + 'ff', good.split('v1=')[1].slice(0, 62)]) {
  assert.throws(() => verify(body, `t=1700000000,v1=${forged}`, 'whsec_new', 1700000010), SignatureError);
}
assert.throws(() => receive({ body, headers: {} }, 'whsec_new', 1700000010), SignatureError);
