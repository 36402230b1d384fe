import assert from 'assert';

export interface RetryPolicy {
  /** Attempts in all, the first one included. */
  attempts: number;
  /** The longest pause before the first retry, in milliseconds; it doubles from retry to retry. */
  baseMs: number;
  /** No pause is longer than this. */
  ceilingMs: number;
}

/**
 * Tells whether a failure is worth another attempt.
 *
 * @param status - the HTTP status, 0 if the connection broke
 * @returns true for broken connections, overload and errors of the server
 */
export function isTransient(status: number): boolean {
  return status === 0 || status === 429 || status >= 500;
}

⟦/**
 * Plans the pauses between the attempts of a request: exponential backoff with full jitter.
 *
 * The upper bound of the pauses doubles from retry to retry until it reaches the ceiling; each pause is drawn
 * between zero and its bound, so that clients which failed together do not come back together.
 *
 * @param policy - how often to try, the first bound and the ceiling
 * @param random - gives a number from 0 (inclusive) to 1 (exclusive)
 * @returns the pauses in whole milliseconds, one less than there are attempts
 * @throws RangeError if the policy allows no attempt at all
 */
⟧export function planRetries(policy: RetryPolicy, random: () => number): number[] {
  if (policy.attempts < 1) {
    throw new RangeError('at least one attempt is needed');
  }
  const pauses: number[] = [];
  for (let retry = 0; retry < policy.attempts - 1; retry += 1) {
    const bound = Math.min(policy.baseMs * 2 ** retry, policy.ceilingMs);
    pauses.push(Math.floor(random() * bound));
  }
  return pauses;
}

/**
 * The longest time that a request may spend waiting.
 *
 * @param policy - how the request is tried again
 * @returns milliseconds
 */
export function longestWait(policy: RetryPolicy): number {
  return planRetries(policy, () => 1).reduce((sum, pause) => sum + pause, 0);
}
⟦tests⟧
const policy: RetryPolicy = { attempts: 5, baseMs: 100, ceilingMs: 500 };
assert.deepStrictEqual(planRetries(policy, () => 0.5), [50, 100, 200, 250]);
assert.deepStrictEqual(planRetries({ ...policy, attempts: 1 }, () => 0.5), []);
assert.deepStrictEqual(planRetries({ ...policy, baseMs: 3 }, () => 0.5), [1, 3, 6, 12]);
assert.throws(() => planRetries({ ...policy, attempts: 0 }, () => 0), RangeError);
assert.strictEqual(longestWait(policy), 1200);
assert.deepStrictEqual([0, 200, 404, 429, 500, 503].map(isTransient), [true, false, false, true, true, true]);
