import assert from 'assert';

type Listener<T> = (payload: T) => void;

class TypedEmitter<Events extends Record<string, unknown>> {
  private listeners: { [Name in keyof Events]?: Set<Listener<Events[Name]>> } = {};

  /** Adds a listener and gives the function that takes it away again. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    const known = (this.listeners[name] ??= new Set());
    ⟦known.add(listener);
    return () => {
      known.delete(listener);
    };⟧
  }

  emit<Name extends keyof Events>(name: Name, payload: Events[Name]): number {
    const known = [...(this.listeners[name] ?? [])];
    known.forEach((listener) => listener(payload));
    return known.length;
  }
}
⟦tests⟧
type PlayerEvents = { progress: number; ended: { reason: string } };
const player = new TypedEmitter<PlayerEvents>();
const seen: string[] = [];
assert.strictEqual(player.emit('progress', 0), 0);
const onProgress = (seconds: number) => { seen.push(`a${seconds}`); };
const stop = player.on('progress', onProgress);
const stopSecond = player.on('progress', (seconds) => { seen.push(`b${seconds + 1}`); });
player.on('ended', ({ reason }) => { seen.push(reason); });

assert.strictEqual(player.emit('progress', 1), 2);
assert.deepStrictEqual(seen, ['a1', 'b2']);
stop();
assert.strictEqual(player.emit('progress', 2), 1);
stop();
assert.strictEqual(player.emit('ended', { reason: 'closed' }), 1);
assert.deepStrictEqual(seen, ['a1', 'b2', 'b3', 'closed']);
stopSecond();
assert.strictEqual(player.emit('progress', 3), 0);
player.on('progress', onProgress);
assert.strictEqual(player.emit('progress', 4), 1);
assert.deepStrictEqual(seen.slice(4), ['a4']);
