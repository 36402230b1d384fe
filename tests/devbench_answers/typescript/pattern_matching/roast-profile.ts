import assert from 'assert';

/** Settings of one roast of coffee: temperatures in degrees Celsius, times in seconds. */
interface Settings {
  readonly charge: number;
  readonly airflow: number;
  readonly drop: readonly [seconds: number, degrees: number];
}

const DEFAULTS: Settings = { charge: 190, airflow: 40, drop: [660, 208] };

class ProfileError extends Error {
  constructor(readonly setting: keyof Settings, readonly value: unknown) {
    super(`${setting} cannot be ${JSON.stringify(value)}`);
  }
}

/** A profile that never changes: each method gives a new one. */
class Profile {
  constructor(readonly settings: Settings = DEFAULTS) {}

  withCharge(degrees: number): Profile {
    if (degrees < 150 || degrees > 230) {
      throw new ProfileError('charge', degrees);
    }
    return new Profile({ ...this.settings, charge: degrees });
  }

  withAirflow(percent: number): Profile {
    if (percent < 0 || percent > 100) {
      throw new ProfileError('airflow', percent);
    }
    return new Profile({ ...this.settings, airflow: percent });
  }

  /** Beans are dropped after 5 to 20 minutes, and never below the temperature at which they were charged. */
  withDrop(seconds: number, degrees: number): Profile {
⟦    if (seconds < 300 || seconds > 1200 || degrees < this.settings.charge) {
      throw new ProfileError('drop', [seconds, degrees]);
    }
    return new Profile({ ...this.settings, drop: [seconds, degrees] });
  }
⟧
  /** Degrees a minute from charge to drop. */
  get slope(): number {
    const [seconds, degrees] = this.settings.drop;
    return ((degrees - this.settings.charge) * 60) / seconds;
  }
}
⟦tests⟧
const house = new Profile();
const light = house.withCharge(200).withDrop(600, 205);
assert.deepStrictEqual(light.settings, { charge: 200, airflow: 40, drop: [600, 205] });
assert.deepStrictEqual(house.settings, DEFAULTS);
assert.strictEqual(light.slope, 0.5);
assert.deepStrictEqual(light.withAirflow(0).withDrop(300, 200).settings, { charge: 200, airflow: 0, drop: [300, 200] });
assert.deepStrictEqual(house.withDrop(1200, 190).settings.drop, [1200, 190]);
for (const [seconds, degrees] of [[299, 205], [1201, 205], [600, 199]]) {
  assert.throws(() => light.withDrop(seconds, degrees), (error: unknown) => {
    assert.ok(error instanceof ProfileError);
    assert.strictEqual(error.message, `drop cannot be [${seconds},${degrees}]`);
    return true;
  });
}
assert.throws(() => house.withCharge(149), { setting: 'charge', value: 149 });
