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
    const found = []; // filled by no method, since a program may have put its own in their place
    try {
      const { prepareStackTrace, stackTraceLimit } = Error;
      Error.stackTraceLimit = most + 2;
      Error.prepareStackTrace = (error, frames) => frames;
      const frames = new Error().stack;
      Error.prepareStackTrace = prepareStackTrace;
      Error.stackTraceLimit = stackTraceLimit;
      for (let at = 2; at < frames.length; at++) found[at - 2] = something(frames[at]);
      return found;
    } catch {
      return [null, null]; // a program that froze `Error`, or that has no stack left: nobody knows who calls
    }
  };

  // --- the end of the top level ---------------------------------------------------------------------------------

  // A CommonJS program may return before its end; then what stands behind its text is not reached.
  const program = process.argv[1];
  const namesOf = (file) => [file, require('url').pathToFileURL(file).href];
  const LINE_END = /\r\n|[\n\r\u2028\u2029]/;
  const { readFileSync } = fs;
  let endsByCall = false;
  let ended = false;
  let waits = () => false;
  // Read now, since a program may put a mock in the place of the file system, and compiled when it is asked for: a
  // third of what `require` takes.
  const part = (name) => {
    const text = readFileSync(`${__dirname}/${name}`, 'utf8');
    return () => {
      const module = {};
      require('vm').compileFunction(text, ['module', 'require'])(module, require);
      return module.exports;
    };
  };
  const watch = (text) => {
    const remaining = part('remaining.cjs');
    waits = part('waiting.cjs')()(text, namesOf(program), stack, remaining) || waits;
  };
  const withEnd = (text) => {
    const { Script } = require('vm');
    const plain = text.replace(/^#!.*/, '');
    try {
      new Script(`(function (exports, require, module, __filename, __dirname) { ${plain}\n})`);
    } catch {
      return text; // not JavaScript, or an ECMAScript module, which cannot return
    }
    endsByCall = true;
    // The last line is ours alone: nobody else can have reached it who calls from there.
    const line = `${text}\n`.split(LINE_END).length;
    const last = `end_${process.hrtime.bigint().toString(36)}`;
    const value = () => {
      ended = stack((frame) => frame.getLineNumber(), 1)[0] === line;
      delete globalThis[last];
      hearTheEnd();
    };
    Object.defineProperty(globalThis, last, { value, configurable: true });
    return `${text}\n;${last}();`;
  };
  fs.readFileSync = function (...values) {
    const text = readFileSync.apply(this, values);
    if (values[0] !== program || typeof text !== 'string') return text;
    fs.readFileSync = readFileSync;
    if (/\b(?:async|await|Promise|then)\b/.test(text) && /assert|expect|Equal|throw/.test(text)) watch(text);
    return withEnd(text);
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
  let theirs = { get: () => Object.getPrototypeOf(process).emit };
  const ours = {
    configurable: true,
    enumerable: false,
    get() {
      if (process._exiting && atEnd()) answer(moduleWaits() || waits());
      return theirs.get ? theirs.get.call(process) : theirs.value;
    },
    set(value) {
      if (theirs.set) theirs.set.call(process, value);
      else theirs = { value };
    },
  };
  // Again where the program has defined the property anew.
  const hearTheEnd = () => {
    const now = Object.getOwnPropertyDescriptor(process, 'emit');
    if (now && (now.get === ours.get || !now.configurable)) return;
    if (now) theirs = now;
    Object.defineProperty(process, 'emit', ours);
  };
  hearTheEnd();
  // The innermost line of the program on the stack lies behind the answer, and no line of the answer is on it.
  const exitsBehindAnswer = () => {
    if (!lastLine) return false;
    const names = namesOf(program);
    const frames = stack((frame) => names.includes(frame.getFileName()) && frame.getLineNumber(), Infinity);
    const lines = frames.filter(Boolean);
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
