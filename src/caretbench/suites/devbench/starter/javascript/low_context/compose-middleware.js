const assert = require('assert');

/**
 * Makes one handler out of middlewares `(context, next) => ...`: each runs the rest by `await next()` and may
 * act before, after or instead of it. A middleware that calls `next` twice is an error.
 */
function compose(middlewares) {
  return function run(context, last = async () => {}) {
    let reached = -1;
    async function dispatch(index) {
      if (index <= reached) throw new Error('next() was called twice');
      reached = index;
      ⟦const handler = index < middlewares.length ? middlewares[index] : last;
      return handler(context, () => dispatch(index + 1));
    }
    return dispatch(0);
  };
}⟧
⟦tests⟧
let finished = false;
process.on('exit', () => assert.ok(finished, 'the tests did not come to their end'));

(async () => {
  const trace = (name) => async (context, next) => {
    context.log.push(`>${name}`);
    const result = await next();
    context.log.push(`<${name}`);
    return result;
  };
  const context = { log: [] };
  const app = compose([trace('time'), trace('auth')]);
  const answer = await app(context, async (given) => {
    given.log.push('handler');
    return 201;
  });
  assert.strictEqual(answer, 201);
  assert.deepStrictEqual(context.log, ['>time', '>auth', 'handler', '<auth', '<time']);

  const denied = { log: [] };
  const guarded = compose([trace('time'), async () => 403, trace('never')]);
  assert.strictEqual(await guarded(denied), 403);
  assert.deepStrictEqual(denied.log, ['>time', '<time']);

  assert.strictEqual(await compose([])({}, async () => 'end'), 'end');
  assert.strictEqual(await compose([])({}), undefined);
  assert.strictEqual(await app({ log: [] }), undefined);
  await assert.rejects(compose([async (_, next) => { await next(); await next(); }])({}), /called twice/);
  await assert.rejects(compose([trace('a'), async () => { throw new Error('broken'); }])({ log: [] }), /broken/);
  const nested = { log: [] };
  await compose([trace('outer'), compose([trace('inner')])])(nested, async (given) => given.log.push('core'));
  assert.deepStrictEqual(nested.log, ['>outer', '>inner', 'core', '<inner', '<outer']);
  finished = true;
})();
