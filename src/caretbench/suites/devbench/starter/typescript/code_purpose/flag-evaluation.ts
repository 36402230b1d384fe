import assert from 'assert';
import { createHash } from 'crypto';

interface User {
  id: string;
  attributes: Record<string, string>;
}

interface Rule {
  attribute: string;
  oneOf: string[];
  enabled: boolean;
}

interface Flag {
  name: string;
  /** Switched off for everybody, whatever else the flag says. */
  killed?: boolean;
  /** All of these flags must be on for the user, too. */
  requires?: string[];
  /** The first rule that fits the user decides. */
  rules?: Rule[];
  /** Per cent of the users, by bucket, for whom the flag is on if no rule fits. */
  rollout: number;
}

/** Feature flags of a web shop: the same user always gets the same answer. */
class Flags {
  private readonly flags: Map<string, Flag>;

  constructor(flags: Flag[]) {
    this.flags = new Map(flags.map((flag) => [flag.name, flag]));
  }

  /** A stable number from 0 to 99 for a user, different from flag to flag. */
  bucket(flag: Flag, user: User): number {
    const digest = createHash('sha256').update(`${flag.name}/${user.id}`).digest();
    return digest.readUInt32BE(0) % 100;
  }

  private fits(rule: Rule, user: User): boolean {
    const value = user.attributes[rule.attribute];
    return value !== undefined && rule.oneOf.includes(value);
  }

  /** Is the flag on for the user? A flag that nobody defined is off. */
  isOn(name: string, user: User): boolean {
    const flag = this.flags.get(name);
⟦    if (flag === undefined || flag.killed) return false;
    if (!(flag.requires ?? []).every((required) => this.isOn(required, user))) return false;
    const rule = (flag.rules ?? []).find((candidate) => this.fits(candidate, user));
    if (rule !== undefined) return rule.enabled;
    return this.bucket(flag, user) < flag.rollout;
  }
⟧
  /** The names of all flags that are on for the user, for the first page that is sent. */
  snapshot(user: User): string[] {
    return [...this.flags.keys()].filter((name) => this.isOn(name, user)).sort();
  }
}
⟦tests⟧
const everyone: User[] = Array.from({ length: 400 }, (_, index) => ({ id: `u${index}`, attributes: {} }));
const staff: User = { id: 'u1', attributes: { role: 'staff', country: 'SE' } };
const guest: User = { id: 'u2', attributes: { country: 'FR' } };
const stock: Flag = { name: 'half', rollout: 50 };
const flags = new Flags([
  stock,
  { name: 'all', rollout: 100 },
  { name: 'none', rollout: 0 },
  { name: 'dead', killed: true, rollout: 100, rules: [{ attribute: 'role', oneOf: ['staff'], enabled: true }] },
  { name: 'needs-dead', requires: ['all', 'dead'], rollout: 100 },
  { name: 'needs-unknown', requires: ['nowhere'], rollout: 100 },
  { name: 'needs-half', requires: ['half'], rollout: 100 },
  {
    name: 'beta',
    rollout: 0,
    rules: [
      { attribute: 'country', oneOf: ['FR', 'DE'], enabled: false },
      { attribute: 'role', oneOf: ['staff'], enabled: true },
      { attribute: 'country', oneOf: ['SE', 'FR'], enabled: true },
    ],
  },
  { name: 'not-in-france', rollout: 100, rules: [{ attribute: 'country', oneOf: ['FR'], enabled: false }] },
  { name: 'staff-of-dead', requires: ['dead'], rollout: 0, rules: [{ attribute: 'role', oneOf: ['staff'], enabled: true }] },
]);

assert.strictEqual(flags.isOn('nowhere', staff), false);
for (const user of everyone) {
  assert.strictEqual(flags.isOn('half', user), flags.bucket(stock, user) < 50);
  assert.strictEqual(flags.isOn('needs-half', user), flags.isOn('half', user));
  assert.strictEqual(flags.isOn('all', user), true);
  assert.strictEqual(flags.isOn('none', user), false);
}
const on = everyone.filter((user) => flags.isOn('half', user)).length;
assert.ok(on > 120 && on < 280, `${on} of 400`);

assert.strictEqual(flags.isOn('dead', staff), false);
assert.strictEqual(flags.isOn('needs-dead', staff), false);
assert.strictEqual(flags.isOn('needs-unknown', staff), false);
assert.strictEqual(flags.isOn('staff-of-dead', staff), false);
assert.strictEqual(flags.isOn('beta', staff), true);
assert.strictEqual(flags.isOn('beta', guest), false);
assert.strictEqual(flags.isOn('beta', everyone[3]), false);
assert.strictEqual(flags.isOn('not-in-france', guest), false);
assert.strictEqual(flags.isOn('not-in-france', staff), true);
const names = flags.snapshot(staff);
assert.ok(names.includes('all') && names.includes('beta') && names.includes('not-in-france'));
assert.ok(!names.includes('dead') && !names.includes('none'));
