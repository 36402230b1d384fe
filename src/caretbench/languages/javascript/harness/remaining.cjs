// What is left to do of a program's function that waits, read in its text: whether it contains a check.
'use strict';

// `assert.fail` says what must not happen.
const CHECK =
  /\bassert\b(?!\s*\.\s*fail\b|\s*=|['"])|assert['"]\s*\)\s*\.|\bassert[A-Z_]\w*\s*\(|\bexpect\s*\(|\b(?:deep)?(?:[sS]trict)?Equal\s*\(/;
// What a check by hand looks like, and an ordinary refusal too: it counts in the main line alone. A bare `throw` says
// what must not happen.
const REFUSAL = /\bif\s*\([^;]{0,200}(?:[=!]==?|[<>])[^;]{0,200}\)\s*\{?\s*throw\b/;
const CHECKER = /^(?:assert|expect|check|verify)/i;

// Loops that wait for what may come or not: their own text never has to be done.
const OPEN_LOOP =
  /^(?:for\s+await\b|for\s*\([^;()]*;\s*;|while\s*\([^{};]*\bawait\b|while\s*\(\s*!?(?![\w$.]*\.(?:length|size)\b)[\w$.]+\s*\)|do\b[^]*\bwhile\s*\(\s*(?:true|1)\s*\)\s*;?$)/;
const LOOP = /\b(?:for|while|do)\b/g;
const LINE_END = /\r\n|[\n\r\u2028\u2029]/g;
const MOST_TRIES = 1000;

const NONE = 0;
const PERHAPS = 1;
const SURELY = 2;

// Return the function that weighs what is left of a suspended function ({ origin, call }) or handler ({ call }).
module.exports = (text) => {
  const { Script } = require('vm');
  const parses = (code) => {
    try {
      return Boolean(new Script(code));
    } catch {
      return false;
    }
  };
  const starts = [0, ...Array.from(text.matchAll(LINE_END), (end) => end.index + end[0].length)];
  const place = ({ line, column }) => starts[line - 1] + column - 1;

  // The shortest text from a place that parses in one of the forms.
  const shortest = (start, least, end, ...forms) => {
    let tries = 0;
    for (const { index } of text.slice(start).matchAll(end)) {
      if (index < least) continue;
      for (const length of [index, index + 1]) {
        const found = text.slice(start, start + length);
        // An expression goes on: `require("assert").strictEqual(…)`.
        if (least && found.endsWith(')') && /^\s*[.([?`]/.test(text.slice(start + length))) continue;
        if (found && forms.some(([open, close]) => parses(open + found + close))) return found;
      }
      if (++tries > MOST_TRIES) break;
    }
    return '';
  };
  const functionAt = (start) => {
    const [head, block] = /^(?:async\s*)?(?:\([^{}]*?\)|[\w$]+)\s*=>\s*(\{?)/.exec(text.slice(start)) || [];
    if (head && !block) return shortest(start, head.length, /[;\n,)}]/g, ['(', ')'], ['(', '\n)']);
    return shortest(start, 0, /\}/g, ['(', ')'], ['({', '})'], ['(class {', '})']);
  };

  // Functions by name, where each begins; methods and properties only count where they are called.
  const named = new Map();
  const members = new Map();
  const note = (where, name, start) => where.set(name, [...(where.get(name) || []), start]);
  const declared =
    /((?:async\s+)?function\s*\*?\s*([\w$]+))\s*\(|\b(?:const|let|var)\s+([\w$]+)\s*(?::[^=;]{0,100})?=\s*(?=async\b|function\b|\(|[\w$]+\s*=>)/g;
  for (const found of text.matchAll(declared)) {
    note(named, found[2] || found[3], found[2] ? found.index : found.index + found[0].length);
  }
  const method = /(?<=^\s*|[{},;]\s*)((?:static\s+)?(?:async\s+)?#?([\w$]+)\s*\([^(){};]*\)\s*\{)/gm;
  for (const found of text.matchAll(method)) {
    if (!/^(?:if|for|while|switch|catch|function|with)$/.test(found[2])) note(members, found[2], found.index);
  }
  const property = /([\w$]+)\s*:\s*(?=async\b|function\b|\([^()]*\)\s*=>|[\w$]+\s*=>)/g;
  for (const found of text.matchAll(property)) note(members, found[1], found.index + found[0].length);

  const known = new Set();
  const weigh = (code) => {
    if (CHECK.test(code)) return SURELY;
    let weight = REFUSAL.test(code) ? PERHAPS : NONE;
    for (const [, name, called] of code.matchAll(/([\w$]+)(\s*\()?/g)) {
      if (known.has(name)) continue;
      const places = [...(named.get(name) || []), ...((called && members.get(name)) || [])];
      if (places.length === 0) continue;
      known.add(name);
      for (const start of places) {
        const body = functionAt(start);
        if (CHECKER.test(name) && /\bthrow\b/.test(body)) return SURELY;
        weight = Math.max(weight, weigh(body));
        if (weight === SURELY) return weight;
      }
    }
    return weight;
  };

  // A loop that calls what it is given, as a runner does with an array of tests: any check of the program may be left.
  const runsWhatItIsGiven = (loop) => {
    const [, header] = /^for\s*\(([^]*?)(?:\bof\b|\bin\b|;)/.exec(loop) || [];
    if (header === undefined) return false;
    if (/\bawait\s[^;\n]*\]\s*\(/.test(loop)) return true;
    const given = new Set(header.match(/[\w$]+/g));
    const calls = loop.matchAll(/\bawait\s+([\w$]+)((?:\s*\.\s*[\w$]+)*)\s*\(/g);
    return Array.from(calls).some(([, base, path]) => given.has(base) && !members.has(path.split('.').pop().trim()));
  };

  // Where the statement begins that a place of a function is in, by brackets and line ends.
  const statement = (begin, at) => {
    let depth = 0;
    for (let back = at - 1; back >= begin; back--) {
      const character = text[back];
      if (')]}'.includes(character)) depth += 1;
      else if ('([{'.includes(character)) {
        const literal = /(?:[([,:=?&|]|\b(?:await|return|throw|yield))\s*$/.test(text.slice(begin, back)); // an object in an expression
        if (depth === 0 && character === '{' && !literal) return back + 1;
        depth = Math.max(0, depth - 1);
      } else if (depth === 0 && (character === ';' || (character === '\n' && endsHere(back)))) return back + 1;
    }
    return begin;
  };
  const endsHere = (newline) =>
    /[\w$)\]}'"`;]\s*$/.test(text.slice(Math.max(0, newline - 200), newline)) && !/^\s*[.,?:+\-*/%&|=<>()[`]/.test(text.slice(newline));

  // What is left of a function behind a place: its text from that statement on, and all of the loops that go round there.
  const left = (begin, at) => {
    const end = begin + functionAt(begin).length;
    if (end <= at) return '';
    let rest = text.slice(statement(begin, at), end);
    const loops = [];
    for (const { index } of text.slice(begin, at).matchAll(LOOP)) {
      const loop = shortest(begin + index, 0, /[};\n]/g, ['(async function* () {', '})']);
      if (begin + index + loop.length > at) loops.unshift({ start: begin + index, loop });
    }
    for (const { start, loop } of loops) {
      if (OPEN_LOOP.test(loop)) rest = text.slice(start + loop.length, end);
      else if (runsWhatItIsGiven(loop)) return text;
      else rest = text.slice(start, end);
    }
    return rest;
  };

  const weights = new Map();
  return ({ origin, call }) => {
    const at = place(call);
    const key = `${origin ? place(origin) : ''}:${at}`;
    if (!weights.has(key)) {
      known.clear();
      weights.set(key, weigh(origin ? left(place(origin), at) : shortest(at, 0, /\)/g, ['x.', ''], ['x', ''])));
    }
    return weights.get(key);
  };
};
