// Says when a program ends whether one of its checks still waits for a promise that nobody settled.
//
// Watched while the program runs: which function is suspended at which promise, which handler of `then` has not run, and
// who waits for either. A function or handler counts where what is left of it contains a check (`remaining.cjs`), unless
// everyone who waited for it went on without it, as behind a race that another promise won.
'use strict';
// Promises that are watched. A program that makes more is judged by these; one costs about 5 microseconds.
const MOST = 3000;
const MOST_FRAMES = 12;
const MOST_CONTAINERS = 200;
const CONTAINERS = new Set(['Promise', 'race', 'any', 'all', 'allSettled']);

// Return the function that says whether a check waits; null where this Node.js does not tell where functions begin.
//
// Arguments: the program's text, its names as a file, a function that gives something of every frame of the stack, and one
// that gives what `remaining.cjs` exports.
module.exports = (text, names, stack, remaining) => {
  const { promiseHooks } = require('v8');
  const { inspect } = require('util');
  const live = new Map(); // what waits, by the promise that its reaction settles
  const resumed = new WeakMap(); // the call that goes on when a reaction runs
  const asynchronous = new Set(); // where asynchronous functions begin
  let containers = []; // promises of `new Promise`, `race` and their kind, which stand for others
  let running = []; // calls of asynchronous functions that have neither ended nor been suspended, the innermost last
  let job; // the promise whose reaction runs
  let made = 0;

  const isCode = (site) => site.getLineNumber() !== null;
  const isOwn = (site) => names.includes(site.getFileName());
  const call = (site) => ({ line: site.getLineNumber(), column: site.getColumnNumber() });
  const origin = (site) => ({ line: site.getEnclosingLineNumber(), column: site.getEnclosingColumnNumber() });
  const key = (site) => `${site.getFileName()}:${site.getEnclosingLineNumber()}:${site.getEnclosingColumnNumber()}`;
  const place = (site) => (site ? `${site.getFileName()}:${site.getLineNumber()}:${site.getColumnNumber()}` : '');
  // The frames of what runs now: without those that wait for it, and without Node's own where there are more hooks.
  const synchronous = (sites) => {
    const found = [];
    for (let at = 0; at < sites.length && sites[at] && !sites[at].isAsync(); at++) {
      if (sites[at].getFileName() !== 'node:internal/promise_hooks') found[found.length] = sites[at];
    }
    return found;
  };

  // Whether the main line does something: the program's top level or a callback, by itself or by plain functions. Not:
  // asynchronous functions, which wait for what they want, and methods of objects, which are rather what is checked.
  const mainLine = (sites, from) => {
    let outermost = true;
    for (let at = sites.length - 1; at >= from; at--) {
      const site = sites[at];
      const file = isCode(site) ? site.getFileName() || '' : 'node:';
      if (file.startsWith('node:')) continue;
      if (!isOwn(site) || asynchronous.has(key(site))) return false;
      if (!outermost && (!site.isToplevel() || site.isConstructor())) return false;
      outermost = false;
    }
    return true;
  };

  const begin = (promise, sites) => {
    asynchronous.add(key(sites[0]));
    const method = !sites[0].isToplevel() && !/test|main|spec/i.test(sites[0].getFunctionName() || '');
    running[running.length] = { promise, key: key(sites[0]), main: !method && mainLine(sites, 1) };
  };
  const suspend = (promise, parent, site) => {
    const its = key(site);
    let at = running.length - 1;
    while (at >= 0 && running[at].key !== its) at--;
    const activation = running[at];
    if (activation && activation.promise === parent) return; // what `await` makes of a value that is no promise
    if (activation) running.length = at;
    resumed.set(promise, activation);
    live.set(promise, { promise, parent, activation, own: isOwn(site), origin: origin(site), call: call(site) });
  };
  const react = (promise, parent, sites) => {
    let at = 1;
    while (at < sites.length && !isCode(sites[at]) && !CONTAINERS.has(sites[at].getFunctionName())) at++;
    const handles = at === 1 && sites[1] && isCode(sites[1]) && isOwn(sites[1]); // not `catch`, `finally`
    const found = handles ? { call: call(sites[1]), main: mainLine(sites, 1) } : {};
    live.set(promise, { promise, parent, handles, ...found, outer: sites.length > 1 ? container(sites) : job });
  };
  // The promise within whose making something is done.
  const container = (sites) => {
    for (let at = 1; at < sites.length; at++) {
      const name = isCode(sites[at]) ? '' : sites[at].getFunctionName();
      if (!CONTAINERS.has(name)) continue;
      const its = place(sites[at + 1]);
      for (let last = containers.length - 1; last >= 0; last--) {
        if (containers[last].name === name && containers[last].place === its) return containers[last].promise;
      }
    }
    return undefined;
  };

  const init = (promise, parent) => {
    if (++made > MOST) return stop();
    const sites = synchronous(stack((site) => site, MOST_FRAMES));
    const maker = sites[0];
    if (maker && isCode(maker)) return parent ? suspend(promise, parent, maker) : begin(promise, sites);
    if (parent) return react(promise, parent, sites);
    if (maker && CONTAINERS.has(maker.getFunctionName())) {
      if (containers.length >= MOST_CONTAINERS) containers = [];
      containers[containers.length] = { promise, name: maker.getFunctionName(), place: place(sites[1]) };
    }
  };
  const before = (promise) => {
    live.delete(promise);
    job = promise;
    const activation = resumed.get(promise);
    running = activation ? [activation] : [];
  };
  const [here] = stack((site) => site, 1);
  if (!here || !here.getEnclosingLineNumber) return null;
  const stop = promiseHooks.createHook({ init, before });

  const shown = { customInspect: false, depth: 0 };
  const isPending = (promise) => /\{\s*<pending>/.test(inspect(promise, shown));

  return () => {
    stop();
    const stuck = [...live.values()].filter(({ parent }) => isPending(parent));
    if (stuck.length === 0) return false;
    const waiting = new Map();
    for (const each of stuck) waiting.set(each.parent, [...(waiting.get(each.parent) || []), each]);

    // Whether everyone who waited for a promise went on without it. One for whom nobody waited is not given up.
    const givenUp = (promise, seen) => {
      if (!waiting.has(promise) || seen.has(promise)) return false;
      seen.add(promise);
      return waiting.get(promise).every((each) => passedOver(each, seen));
    };
    const passedOver = (each, seen) => {
      if (each.origin) return Boolean(each.activation) && givenUp(each.activation.promise, seen);
      if (waiting.has(each.promise)) return givenUp(each.promise, seen);
      return Boolean(each.outer) && (!isPending(each.outer) || givenUp(each.outer, seen));
    };
    // Whether the main line waits for a promise.
    const awaited = (promise, seen) => {
      if (!promise || seen.has(promise)) return false;
      seen.add(promise);
      return (waiting.get(promise) || []).some((each) => leads(each, seen));
    };
    const leads = (each, seen = new Set()) => {
      if (each.main) return true;
      if (each.origin) {
        return Boolean(each.activation) && (each.activation.main || awaited(each.activation.promise, seen));
      }
      return awaited(each.promise, seen) || awaited(each.outer, seen);
    };

    const weigh = remaining()(text);
    return stuck.some((each) => {
      if (each.origin ? !each.own || !each.activation : !each.handles) return false;
      const weight = weigh(each);
      if (weight === 0 || (weight === 1 && !leads(each))) return false;
      return !passedOver(each, new Set());
    });
  };
};
