'use strict';

const assert = require('assert');

const MINUTES = (text) => {
  const [hours, minutes] = text.split(':').map(Number);
  return hours * 60 + minutes;
};
const CLOCK = (minutes) =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;

/**
 * The calendar of a delivery service:
 *
 *   { slotMinutes: 60,
 *     days: [{ date, closed?, vans: [{ id, shifts: [["08:00", "12:00"], ...], booked: ["09:00", ...] }] }] }
 *
 * Yields every free slot as { date, van, from, to }: day by day, van by van, in the order given. Closed days have none.
 * A slot that does not fit entirely into a shift is not offered, nor is one that begins at a booked time.
 * The list of booked times of a van may be missing.
 */
function* freeSlots({ slotMinutes, days }) {
  for (const { date, closed = false, vans } of days) {
    if (closed) continue;
⟦    for (const { id, shifts, booked = [] } of vans) {
      for (const [opens, closes] of shifts) {
        for (let at = MINUTES(opens); at + slotMinutes <= MINUTES(closes); at += slotMinutes) {
          if (!booked.includes(CLOCK(at))) {
            yield { date, van: id, from: CLOCK(at), to: CLOCK(at + slotMinutes) };
          }
        }
      }
    }
  }
}
⟧
/** The first `count` free slots; looks no further than it must. */
function offer(calendar, count) {
  const slots = [];
  if (count < 1) return slots;
  for (const slot of freeSlots(calendar)) {
    slots.push(slot);
    if (slots.length === count) break;
  }
  return slots;
}
⟦tests⟧
const calendar = {
  slotMinutes: 90,
  days: [
    { date: '2024-06-03', closed: true, vans: [{ id: 'V1', shifts: [['08:00', '20:00']], booked: [] }] },
    {
      date: '2024-06-04',
      vans: [
        { id: 'V1', shifts: [['08:00', '12:00'], ['13:30', '15:00']], booked: ['09:30'] },
        { id: 'V2', shifts: [['09:05', '10:34'], ['22:30', '24:00']] },
      ],
    },
    { date: '2024-06-05', vans: [] },
    { date: '2024-06-06', closed: false, vans: [{ id: 'V3', shifts: [['06:00', '09:00']], booked: ['06:00', '07:30'] }] },
    { date: '2024-06-07', vans: [{ id: 'V3', shifts: [['06:00', '09:00']], booked: ['06:00'] }] },
  ],
};
const expected = [
  { date: '2024-06-04', van: 'V1', from: '08:00', to: '09:30' },
  { date: '2024-06-04', van: 'V1', from: '13:30', to: '15:00' },
  { date: '2024-06-04', van: 'V2', from: '22:30', to: '24:00' },
  { date: '2024-06-07', van: 'V3', from: '07:30', to: '09:00' },
];
assert.deepStrictEqual([...freeSlots(calendar)], expected);
assert.deepStrictEqual(offer(calendar, 2), expected.slice(0, 2));
assert.deepStrictEqual(offer(calendar, 0), []);
assert.deepStrictEqual(offer({ slotMinutes: 30, days: [] }, 5), []);
const short = { slotMinutes: 20, days: [{ date: 'd', vans: [{ id: 'x', shifts: [['10:00', '10:59']], booked: ['10:20'] }] }] };
assert.deepStrictEqual([...freeSlots(short)].map(({ from, to }) => `${from}-${to}`), ['10:00-10:20']);

// Lazy: a day that is never reached is never looked at.
const lazy = { slotMinutes: 60, days: [{ date: 'd', vans: [{ id: 'x', shifts: [['10:00', '11:00']] }] }, null] };
assert.strictEqual(offer(lazy, 1).length, 1);
