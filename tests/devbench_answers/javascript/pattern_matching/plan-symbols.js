'use strict';

const assert = require('assert');

const SCALE = 20;

/**
 * Symbols of a floor plan, drawn as SVG. Lengths are metres in the plan and pixels in the picture; every symbol is a
 * tag with its own attributes and the class of its kind.
 *
 *   column  { x, y, radius }                  circle with cx, cy, r
 *   wall    { x, y, width, height }           rect with x, y, width, height
 *   pipe    { from: [x, y], to: [x, y] }      line with x1, y1, x2, y2
 */
const SYMBOLS = {};

function pixels(metres) {
  return Math.round(metres * SCALE);
}

function tag(name, kind, attributes) {
  const text = Object.entries(attributes).map(([key, value]) => ` ${key}="${value}"`);
  return `<${name} class="${kind}"${text.join('')}/>`;
}

SYMBOLS.column = ({ x, y, radius }) => {
  if (!(radius > 0)) throw new RangeError('a column needs a radius');
  return tag('circle', 'column', { cx: pixels(x), cy: pixels(y), r: pixels(radius) });
};

SYMBOLS.wall = ({ x, y, width, height }) => {
  if (!(width > 0 && height > 0)) throw new RangeError('a wall needs an extent');
  return tag('rect', 'wall', { x: pixels(x), y: pixels(y), width: pixels(width), height: pixels(height) });
};

SYMBOLS.pipe = ⟦({ from, to }) => {
  if (from[0] === to[0] && from[1] === to[1]) throw new RangeError('a pipe needs a length');
  return tag('line', 'pipe', { x1: pixels(from[0]), y1: pixels(from[1]), x2: pixels(to[0]), y2: pixels(to[1]) });
};
⟧
function draw(plan) {
  return plan.map(({ symbol, ...shape }) => SYMBOLS[symbol](shape)).join('\n');
}
⟦tests⟧
assert.strictEqual(draw([]), '');
assert.strictEqual(
  SYMBOLS.pipe({ from: [0.5, 1], to: [3, 0] }),
  '<line class="pipe" x1="10" y1="20" x2="60" y2="0"/>',
);
assert.strictEqual(
  draw([{ symbol: 'column', x: 1, y: 2, radius: 0.25 }, { symbol: 'pipe', from: [1, 1], to: [1, 1.02] }]),
  '<circle class="column" cx="20" cy="40" r="5"/>\n<line class="pipe" x1="20" y1="20" x2="20" y2="20"/>',
);
assert.throws(() => SYMBOLS.pipe({ from: [2, 3], to: [2, 3] }), /^RangeError: a pipe needs a length$/);
assert.throws(() => draw([{ symbol: 'wall', x: 0, y: 0, width: 0, height: 2 }]), RangeError);
assert.ok(SYMBOLS.pipe({ from: [-1, 3], to: [3, -1] }).includes('x1="-20" y1="60" x2="60" y2="-20"'));
