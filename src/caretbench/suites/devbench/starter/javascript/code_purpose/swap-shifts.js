'use strict';

const assert = require('assert');

const HOUR = 3600 * 1000;
const MINIMUM_REST = 11 * HOUR;

class RosterError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** Who works which shift in a ward. Shifts are { id, start, end, skill }, times in milliseconds. */
class Roster {
  constructor(shifts, people) {
    this.shifts = new Map(shifts.map((shift) => [shift.id, shift]));
    this.skills = new Map(people.map(({ name, skills }) => [name, new Set(skills)]));
    this.owners = new Map();
  }

  ownerOf(shiftId) {
    const owner = this.owners.get(shiftId);
    if (owner === undefined) throw new RosterError('unassigned', `nobody works shift ${shiftId}`);
    return owner;
  }

  shiftsOf(name) {
    return [...this.owners].filter(([, owner]) => owner === name).map(([id]) => this.shifts.get(id));
  }

  assign(shiftId, name) {
    const shift = this.shifts.get(shiftId);
    if (!this.skills.get(name).has(shift.skill)) {
      throw new RosterError('skill', `${name} is not trained for ${shift.skill}`);
    }
    for (const other of this.shiftsOf(name)) {
      const rests = shift.start - other.end >= MINIMUM_REST || other.start - shift.end >= MINIMUM_REST;
      if (!rests) throw new RosterError('rest', `${name} would not rest between ${other.id} and ${shiftId}`);
    }
    this.owners.set(shiftId, name);
  }

  unassign(shiftId) {
    this.owners.delete(shiftId);
  }

  /** Two people exchange their shifts, if the rules allow it for both; otherwise all stays as it was. */
  swap(firstId, secondId) {
⟦    const first = this.ownerOf(firstId);
    const second = this.ownerOf(secondId);
    const before = new Map(this.owners);
    this.unassign(firstId);
    this.unassign(secondId);
    try {
      this.assign(firstId, second);
      this.assign(secondId, first);
    } catch (error) {
      this.owners = before;
      throw error;
    }
⟧  }
}
⟦tests⟧
function ward() {
  const roster = new Roster(
    [
      { id: 'mon-day', start: 6 * HOUR, end: 14 * HOUR, skill: 'general' },
      { id: 'mon-late', start: 14 * HOUR, end: 22 * HOUR, skill: 'general' },
      { id: 'tue-day', start: 30 * HOUR, end: 38 * HOUR, skill: 'general' },
      { id: 'tue-icu', start: 33 * HOUR, end: 41 * HOUR, skill: 'icu' },
      { id: 'wed-day', start: 54 * HOUR, end: 62 * HOUR, skill: 'general' },
    ],
    [
      { name: 'Ines', skills: ['general', 'icu'] },
      { name: 'Karl', skills: ['general'] },
    ],
  );
  return roster;
}
const owners = (roster) => Object.fromEntries(roster.owners);

// Overlapping shifts: both must be free before either is given away again.
let roster = ward();
roster.assign('mon-day', 'Ines');
roster.assign('mon-late', 'Karl');
roster.swap('mon-day', 'mon-late');
assert.deepStrictEqual(owners(roster), { 'mon-day': 'Karl', 'mon-late': 'Ines' });

roster = ward();
roster.assign('tue-day', 'Karl');
roster.assign('tue-icu', 'Ines');
for (const pair of [['tue-day', 'tue-icu'], ['tue-icu', 'tue-day']]) {
  assert.throws(() => roster.swap(...pair), { code: 'skill' });
  assert.deepStrictEqual(owners(roster), { 'tue-day': 'Karl', 'tue-icu': 'Ines' });
}

// Karl would come home at 22:00 and start again at 6:00.
roster = ward();
roster.assign('mon-day', 'Karl');
roster.assign('tue-day', 'Karl');
roster.assign('mon-late', 'Ines');
roster.assign('wed-day', 'Ines');
const before = owners(roster);
assert.throws(() => roster.swap('mon-day', 'mon-late'), { code: 'rest' });
assert.deepStrictEqual(owners(roster), before);
assert.throws(() => roster.swap('mon-late', 'mon-day'), { code: 'rest' });
assert.deepStrictEqual(owners(roster), before);
assert.throws(() => roster.swap('wed-day', 'tue-day'), { code: 'rest' });
assert.deepStrictEqual(owners(roster), before);

roster = ward();
roster.assign('tue-icu', 'Ines');
roster.assign('mon-day', 'Ines');
roster.assign('wed-day', 'Karl');
roster.swap('wed-day', 'mon-day');
assert.deepStrictEqual(owners(roster), { 'tue-icu': 'Ines', 'mon-day': 'Karl', 'wed-day': 'Ines' });

roster = ward();
roster.assign('mon-day', 'Ines');
assert.throws(() => roster.swap('mon-day', 'tue-day'), { code: 'unassigned' });
assert.throws(() => roster.swap('tue-day', 'mon-day'), { code: 'unassigned' });
assert.deepStrictEqual(owners(roster), { 'mon-day': 'Ines' });
