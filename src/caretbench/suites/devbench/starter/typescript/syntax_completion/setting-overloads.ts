import assert from 'assert';

class SettingError extends Error {
  constructor(readonly setting: string, message: string) {
    super(`${setting}: ${message}`);
  }
}

interface SettingTypes {
  text: string;
  number: number;
  switch: boolean;
  list: string[];
}

type SettingKind = keyof SettingTypes;

type Source = Readonly<Record<string, string | undefined>>;

const SWITCHES: Record<string, boolean> = { on: true, true: true, yes: true, off: false, false: false, no: false };

/** Settings of a service, read from an environment-like source of texts. */
class Settings {
  constructor(private readonly source: Source) {}

  /**
   * Reads a setting. The fallback is given if the source does not have it (or has an empty text); without a
   * fallback that is a SettingError "is not set".
   *
   * - `text`: as it is
   * - `number`: any finite number, else a SettingError "is not a number"
   * - `switch`: a key of SWITCHES in small or capital letters, else a SettingError "is neither on nor off"
   * - `list`: parted at commas; blanks around the items do not matter, empty items are left out
   */
  read<Kind extends SettingKind>(name: string, kind: Kind, fallback?: SettingTypes[Kind]): SettingTypes[Kind];
  read(name: string, kind: SettingKind, fallback?: SettingTypes[SettingKind]): SettingTypes[SettingKind] {
    const raw = this.source[name];
    if (raw === undefined || raw === '') {
      if (fallback === undefined) throw new SettingError(name, 'is not set');
      return fallback;
    }
    switch (kind) {
      case 'text':
        return raw;
⟦      case 'number': {
        const value = Number(raw);
        if (!Number.isFinite(value)) throw new SettingError(name, 'is not a number');
        return value;
      }
      case 'switch': {
        const value: boolean | undefined = SWITCHES[raw.toLowerCase()];
        if (value === undefined) throw new SettingError(name, 'is neither on nor off');
        return value;
      }
      case 'list':
        return raw
          .split(',')
          .map((item) => item.trim())
          .filter((item) => item !== '');
    }
  }
⟧
  /** The names of all settings that begin with a prefix, sorted. */
  names(prefix: string): string[] {
    return Object.keys(this.source).filter((name) => name.startsWith(prefix)).sort();
  }
}
⟦tests⟧
const settings = new Settings({
  APP_NAME: 'billing',
  APP_PORT: '8080',
  APP_RATE: '-0.25',
  APP_ZERO: '0',
  APP_DEBUG: 'Off',
  APP_AUDIT: 'YES',
  APP_HOSTS: ' a.example, b.example ,,c.example,',
  APP_EMPTY: '',
  APP_WRONG: 'eight',
  APP_HUGE: 'Infinity',
  OTHER: undefined,
});

const name: string = settings.read('APP_NAME', 'text');
const port: number = settings.read('APP_PORT', 'number');
const hosts: string[] = settings.read('APP_HOSTS', 'list');
assert.strictEqual(name, 'billing');
assert.strictEqual(port, 8080);
assert.deepStrictEqual(hosts, ['a.example', 'b.example', 'c.example']);
assert.strictEqual(settings.read('APP_RATE', 'number'), -0.25);
assert.strictEqual(settings.read('APP_ZERO', 'number', 5), 0);
assert.strictEqual(settings.read('APP_DEBUG', 'switch', true), false);
assert.strictEqual(settings.read('APP_AUDIT', 'switch'), true);
assert.deepStrictEqual(settings.read('APP_NAME', 'list'), ['billing']);

assert.strictEqual(settings.read('APP_EMPTY', 'number', 3), 3);
assert.strictEqual(settings.read('OTHER', 'switch', false), false);
assert.deepStrictEqual(settings.read('MISSING', 'list', []), []);
const fails = (setting: string, kind: SettingKind, message: string) =>
  assert.throws(() => settings.read(setting, kind), (error: unknown) => {
    assert.ok(error instanceof SettingError);
    assert.strictEqual(error.message, `${setting}: ${message}`);
    return true;
  });
fails('MISSING', 'text', 'is not set');
fails('APP_EMPTY', 'list', 'is not set');
fails('APP_WRONG', 'number', 'is not a number');
fails('APP_HUGE', 'number', 'is not a number');
fails('APP_WRONG', 'switch', 'is neither on nor off');
fails('APP_ZERO', 'switch', 'is neither on nor off');
assert.deepStrictEqual(settings.names('APP_A'), ['APP_AUDIT']);
