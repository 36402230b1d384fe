// Loaded before a program: writes the completion word when the program came to its own end with exit status 0.
//
// No such end: an explicit process.exit (but for one of the program's own lines behind the answer), an assertion that
// nobody but a handler caught, and a top-level return. Where checks wait for ever, a question mark follows the word.
//
// Nothing of this file is on the stack while the program runs, and no V8 flag is needed: with one, Node.js compiles its
// own modules anew.
'use strict';
const ends = process.env.CARETBENCH_SENTINEL;
if (ends) {
  delete process.env.CARETBENCH_SENTINEL;
  const [firstLine, lastLine] = (process.env.CARETBENCH_ANSWER_LINES || '').split(':').map(Number);
  delete process.env.CARETBENCH_ANSWER_LINES;
  const fs = require('fs');
  const [questions, answers] = ends.split(':').map(Number);
  const word = Buffer.alloc(64);
  const length = fs.readSync(questions, word, 0, 64, null);
  fs.closeSync(questions);
  const write = fs.writeSync;
  const say = (bytes) => {
    try {
      write(answers, bytes, 0, bytes.length);
    } catch {
      // Programs that put a mock in the place of the file system take the binding below `fs` with it: a socket writes.
      const { Socket } = require('net');
      const channel = new Socket({ fd: answers, readable: false, writable: true });
      channel._handle.setBlocking(true);
      channel.write(bytes);
    }
  };
  let said = false;
  let refused = false;
  const answer = (questioned) => {
    said = true;
    if (questioned) word.write('?', length);
    say(word.subarray(0, questioned ? length + 1 : length));
  };
  // What follows the word makes it another one.
  const refuse = () => {
    refused = true;
    if (said) say(word.subarray(0, 1));
  };

  const { Error } = globalThis;
  // Something of every caller of the function that asks, at most so many.
  const stack = (something, most) => {
    const { prepareStackTrace, stackTraceLimit } = Error;
    Error.stackTraceLimit = most + 2;
    Error.prepareStackTrace = (error, frames) => frames.map(something);
    const found = new Error().stack.slice(2);
    Object.assign(Error, { prepareStackTrace, stackTraceLimit });
    return found;
  };

  // --- the end of the top level ---------------------------------------------------------------------------------

  // A CommonJS program may return before its end; then what stands behind its text is not reached.
  const program = process.argv[1];
  const LINE_END = /\r\n|[\n\r\u2028\u2029]/;
  const { readFileSync } = fs;
  let endsByCall = false;
  let ended = false;
  let endWatch = () => () => false;
  let waits = () => false;
  const withEnd = (text) => {
    const { Script } = require('vm');
    const plain = text.replace(/^#!.*/, '');
    try {
      new Script(`(function (exports, require, module, __filename, __dirname) { ${plain}\n})`);
    } catch {
      return text; // not JavaScript, or an ECMAScript module, which cannot return
    }
    endsByCall = true;
    if (/\b(?:async|Promise|then)\b/.test(text) && CHECK.test(text)) endWatch = watchTopLevel(text);
    // The last line is ours alone: nobody else can have reached it who calls from there.
    const line = `${text}\n`.split(LINE_END).length;
    const last = `end_${process.hrtime.bigint().toString(36)}`;
    const value = () => {
      ended = stack((frame) => frame.getLineNumber(), 1)[0] === line;
      delete globalThis[last];
      waits = endWatch();
    };
    Object.defineProperty(globalThis, last, { value, configurable: true });
    return `${text}\n;${last}();`;
  };
  fs.readFileSync = function (...values) {
    const text = readFileSync.apply(this, values);
    if (values[0] !== program || typeof text !== 'string') return text;
    fs.readFileSync = readFileSync;
    return withEnd(text);
  };

  // --- what the top level waits for -----------------------------------------------------------------------------

  // A check that a program may fail to reach. `assert.fail` and a bare `throw` say what must not happen.
  const CHECK =
    /\bassert\b(?!\s*\.\s*fail\b|\s*=|['"])|assert['"]\s*\)\s*\.|\bexpect\s*\(|\b(?:deep)?(?:[sS]trict)?Equal\s*\(|\bif\s*\([^;]{0,200}(?:[=!]==?|[<>])[^;]{0,200}\)\s*\{?\s*throw\b/;
  const ENDLESS = /\bfor\s*\(\s*;\s*;\s*\)|\bwhile\s*\(\s*(?:true|1)\s*\)/;

  // What a call at a place of a program waits to do: the text of the function and of the call, with the functions that
  // they name.
  const reader = (text) => {
    const { Script } = require('vm');
    const parses = (code) => {
      try {
        return Boolean(new Script(code));
      } catch {
        return false;
      }
    };
    const starts = [0, ...Array.from(text.matchAll(new RegExp(LINE_END, 'g')), (end) => end.index + end[0].length)];
    const place = ({ line, column }) => starts[line - 1] + column - 1;
    const shortest = (start, least, end, ...forms) => {
      let tries = 0;
      for (const { index } of text.slice(start).matchAll(end)) {
        if (index < least) continue;
        const found = text.slice(start, start + index + (/[)}]/.test(text[start + index]) ? 1 : 0));
        // An expression goes on: `require("assert").strictEqual(…)`.
        if (least && found.endsWith(')') && /^\s*[.([?`]/.test(text.slice(start + found.length))) continue;
        if (forms.some(([open, close]) => parses(open + found + close))) return found;
        if (++tries > 1000) break;
      }
      return '';
    };
    const functionAt = (start) => {
      const [head, block] = /^(?:async\s*)?(?:\([^{}]*?\)|[\w$]+)\s*=>\s*(\{?)/.exec(text.slice(start)) || [];
      if (head && !block) return shortest(start, head.length, /[;\n,)}]/g, ['(', ')']);
      return shortest(start, 0, /\}/g, ['(', ')'], ['({', '})']);
    };
    const named = new Map();
    const declared = /((?:async\s+)?function\s*\*?\s*([\w$]+))\s*\(|\b(?:const|let|var)\s+([\w$]+)\s*=\s*(?=async\b|function\b|\(|[\w$]+\s*=>)/g;
    for (const found of text.matchAll(declared)) {
      named.set(found[2] || found[3], found[2] ? found.index : found.index + found[0].length);
    }
    const known = new Set();
    const checks = (code) => {
      if (CHECK.test(code)) return true;
      const names = (code.match(/[\w$]+/g) || []).filter((name) => named.has(name) && !known.has(name));
      names.forEach((name) => known.add(name));
      return names.some((name) => checks(functionAt(named.get(name))));
    };
    return ({ origin, call }) => {
      const body = origin ? functionAt(place(origin)) : '';
      const called = shortest(place(call), 0, /\)/g, ['x.', ''], ['x', '']);
      known.clear();
      return !ENDLESS.test(body) && checks(`${body}\n${called}`);
    };
  };

  // The promises that the top level begins: calls of the program's asynchronous functions, by itself or by plain functions
  // that it calls; its own `then` and `Promise.all`. Not: what asynchronous functions begin, since they wait for what they
  // want; what methods of objects begin, which may be work that never ends; `new Promise`, `race` and `catch` alone. Gives
  // the function that ends the watch, which gives the function that says whether one is pending that holds checks.
  const watchTopLevel = (text) => {
    const { promiseHooks } = require('v8');
    const { inspect } = require('util');
    const begun = [];
    const asynchronous = new Set();
    const describe = (frame) => ({
      file: frame.getFileName(),
      name: frame.getFunctionName(),
      plain: frame.isToplevel() && !frame.isConstructor(),
      call: { line: frame.getLineNumber(), column: frame.getColumnNumber() },
      // Where the function begins; not every version of V8 says so.
      origin: frame.getEnclosingLineNumber && {
        line: frame.getEnclosingLineNumber(),
        column: frame.getEnclosingColumnNumber(),
      },
    });
    const key = (origin) => `${origin.line}:${origin.column}`;
    const stop = promiseHooks.onInit((promise, parent) => {
      if (begun.length >= 1000) return;
      const frames = stack(describe, 12);
      const [maker] = frames;
      if (maker && maker.file) {
        if (maker.file !== program || parent || !maker.origin) return; // a library's, or what `await` makes for itself
        asynchronous.add(key(maker.origin));
      }
      // The frame of the module itself lies above the loader's.
      const top = frames.findIndex(({ file, name }) => name === 'Module._compile' && file.startsWith('node:')) - 1;
      if (top < 1) return;
      const between = frames.slice(1, top);
      const plain = ({ file, plain, origin }) =>
        !file || (file === program && plain && origin && !asynchronous.has(key(origin)));
      const direct = (maker.name === 'then' || maker.name === 'all' || maker.name === 'allSettled') && top === 1;
      if (!(maker.file ? between.every(plain) : direct)) return;
      begun.push({ promise, origin: maker.file && maker.origin, call: frames[top].call });
    });
    return () => {
      stop();
      const shown = { customInspect: false, depth: 0 };
      return () => {
        const pending = begun.filter(({ promise }) => /\{\s*<pending>/.test(inspect(promise, shown)));
        return pending.length > 0 && pending.some(reader(text));
      };
    };
  };

  // --- the end of the process -----------------------------------------------------------------------------------

  // Node.js itself asks for the function that announces the end, with nothing below it on the stack.
  const atEnd = () => {
    if (said || refused || !process._exiting || process.exitCode || stack(String, 2).length > 1) return false;
    return ended || !endsByCall;
  };
  // While the top level of a module waits, Node.js listens for the end to make the exit status 13 of it. An explicit
  // exit with that status has been announced by its number before, so `atEnd` is false.
  const moduleWaits = () => process.listeners('exit').some(({ name }) => name === 'handleProcessExit');
  let { emit } = process;
  Object.defineProperty(process, 'emit', {
    configurable: true,
    enumerable: false,
    get() {
      if (process._exiting && atEnd()) answer(moduleWaits() || waits());
      return emit;
    },
    set(value) {
      emit = value;
    },
  });
  // The innermost line of the program on the stack lies behind the answer, and no line of the answer is on it.
  const exitsBehindAnswer = () => {
    if (!lastLine) return false;
    const names = [program, require('url').pathToFileURL(program).href];
    const frames = stack((frame) => names.includes(frame.getFileName()) && frame.getLineNumber(), Infinity);
    const lines = Array.isArray(frames) ? frames.filter(Boolean) : [];
    return lines[0] > lastLine && lines.every((line) => line < firstLine || line > lastLine);
  };
  const { reallyExit } = process;
  process.reallyExit = function (...values) {
    if (!refused && !said && !values[0] && exitsBehindAnswer()) answer(false);
    else refuse();
    return reallyExit.apply(this, values);
  };
  // A handler that swallows a failed assertion does not make the program come to its own end.
  const failed = (error) => {
    if (error && error.name === 'AssertionError') refuse();
  };
  process.on('uncaughtExceptionMonitor', failed);
  process.on('newListener', function watch(event) {
    if (event !== 'unhandledRejection') return;
    process.off('newListener', watch);
    process.on(event, failed);
  });
}
