import assert from 'assert';

type PlanCode = 'solo' | 'team' | 'business';

interface Plan {
  readonly code: PlanCode;
  readonly monthlyCents: number;
  readonly seats: number;
}

interface Entry {
  readonly on: Date;
  readonly text: string;
  readonly cents: number;
}

const PLANS: Record<PlanCode, Plan> = {
  solo: { code: 'solo', monthlyCents: 900, seats: 1 },
  team: { code: 'team', monthlyCents: 4500, seats: 10 },
  business: { code: 'business', monthlyCents: 12000, seats: 50 },
};
const DAY = 24 * 3600 * 1000;

class SubscriptionError extends Error {}

/** A subscription that is paid in advance, for periods of 30 days. Credits are negative entries of its ledger. */
class Subscription {
  readonly ledger: Entry[] = [];
  private plan: Plan;

  constructor(code: PlanCode, private periodStart: Date, private usedSeats: number) {
    this.plan = PLANS[code];
    this.requireSeats(this.plan);
    this.book(periodStart, `${code}: full period`, this.plan.monthlyCents);
  }

  get planCode(): PlanCode {
    return this.plan.code;
  }

  get balance(): number {
    return this.ledger.reduce((sum, entry) => sum + entry.cents, 0);
  }

  private daysLeft(on: Date): number {
    const used = Math.floor((on.getTime() - this.periodStart.getTime()) / DAY);
    if (used < 0 || used >= 30) throw new SubscriptionError('the date is outside of the current period');
    return 30 - used;
  }

  private share(plan: Plan, days: number): number {
    return Math.round((plan.monthlyCents * days) / 30);
  }

  private requireSeats(plan: Plan): void {
    if (this.usedSeats > plan.seats) {
      throw new SubscriptionError(`${plan.code} has ${plan.seats} seats, ${this.usedSeats} are in use`);
    }
  }

  private book(on: Date, text: string, cents: number): void {
    this.ledger.push({ on, text, cents });
  }

  /** Moves to another plan on a day of the period: first what is left of the old one is credited, then the new one charged. */
  changePlan(code: PlanCode, on: Date): void {
    const next = PLANS[code];
    if (next.code === this.plan.code) return;
⟦    this.requireSeats(next);
    const days = this.daysLeft(on);
    this.book(on, `${this.plan.code}: credit for ${days} days`, -this.share(this.plan, days));
    this.book(on, `${next.code}: charge for ${days} days`, this.share(next, days));
    this.plan = next;
⟧  }

  renew(): void {
    this.periodStart = new Date(this.periodStart.getTime() + 30 * DAY);
    this.book(this.periodStart, `${this.plan.code}: full period`, this.plan.monthlyCents);
  }
}
⟦tests⟧
const start = new Date('2024-04-01T00:00:00Z');
const day = (number: number) => new Date(start.getTime() + number * DAY);
const cents = (subscription: Subscription) => subscription.ledger.map((entry) => entry.cents);

const growing = new Subscription('solo', start, 1);
growing.changePlan('team', day(10));
assert.strictEqual(growing.planCode, 'team');
assert.deepStrictEqual(cents(growing), [900, -600, 3000]);
assert.ok(growing.ledger.slice(1).every((entry) => entry.on.getTime() === day(10).getTime()));
growing.changePlan('team', day(11));
assert.strictEqual(growing.ledger.length, 3);
growing.changePlan('business', day(29));
assert.deepStrictEqual(cents(growing).slice(3), [-150, 400]);
growing.renew();
assert.strictEqual(growing.balance, 900 - 600 + 3000 - 150 + 400 + 12000);
growing.changePlan('solo', day(30));
assert.deepStrictEqual(cents(growing).slice(-2), [-12000, 900]);

const crowded = new Subscription('business', start, 11);
assert.throws(() => crowded.changePlan('team', day(3)), SubscriptionError);
assert.strictEqual(crowded.planCode, 'business');
assert.deepStrictEqual(cents(crowded), [12000]);

const team = new Subscription('team', start, 1);
for (const outside of [day(30), day(-1)]) {
  assert.throws(() => team.changePlan('solo', outside), SubscriptionError);
  assert.strictEqual(team.planCode, 'team');
  assert.strictEqual(team.ledger.length, 1);
}
team.changePlan('solo', new Date(day(7).getTime() + DAY / 2));
assert.deepStrictEqual(cents(team), [4500, -3450, 690]);
