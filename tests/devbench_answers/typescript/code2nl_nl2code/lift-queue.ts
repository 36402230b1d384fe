import assert from 'assert';

/** A ski lift as the piste map sees it. */
export interface Lift {
  /** Seats of one chair. */
  readonly seats: number;
  /** Seconds between two chairs. */
  readonly interval: number;
  /** Seconds of the ride. */
  readonly ride: number;
}

/**
 * Tells how many skiers a lift carries in an hour when no seat stays empty.
 *
 * @param lift - the lift
 * @returns the number of skiers, rounded down
 */
export function capacity(lift: Lift): number {
  return Math.floor((3600 / lift.interval) * lift.seats);
}

⟦/**
 * Estimates when the last skier of a queue arrives at the top of a lift.
 *
 * Chairs leave one by one, the first at once; a share of the seats stays empty because groups do not split. The
 * estimate is the wait of the last chair that the queue fills, and the ride.
 *
 * @param lift - the lift at which the skiers queue
 * @param queue - the number of skiers in the queue, not negative
 * @param filled - the share of seats that are taken, above 0 and at most 1
 * @returns whole seconds from now, 0 for an empty queue
 * @throws RangeError if the share is not above 0 and at most 1
 */
⟧export function queueArrival(lift: Lift, queue: number, filled: number): number {
  if (!(filled > 0 && filled <= 1)) {
    throw new RangeError(`a share of ${filled} seats cannot be taken`);
  }
  if (queue === 0) return 0;
  const chairs = Math.ceil(queue / (lift.seats * filled));
  return Math.round((chairs - 1) * lift.interval + lift.ride);
}

export function sign(lift: Lift, queue: number): string {
  return `${Math.ceil(queueArrival(lift, queue, 0.75) / 60)} min`;
}
⟦tests⟧
const quad: Lift = { seats: 4, interval: 8, ride: 300 };
assert.strictEqual(capacity(quad), 1800);
assert.strictEqual(queueArrival(quad, 0, 1), 0);
assert.strictEqual(queueArrival(quad, 1, 1), 300);
assert.strictEqual(queueArrival(quad, 4, 1), 300);
assert.strictEqual(queueArrival(quad, 5, 1), 308);
assert.strictEqual(queueArrival(quad, 12, 0.75), 324);
assert.strictEqual(sign(quad, 300), '19 min');
for (const share of [0, -1, 1.01, NaN]) {
  assert.throws(() => queueArrival(quad, 4, share), RangeError);
}
