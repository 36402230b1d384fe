// Loaded before a program: writes the completion word when the program came to its own end with exit status 0.
// An explicit process.exit, whatever its status, is no such end; nor is one after an assertion that nobody caught.
'use strict';
const ends = process.env.CARETBENCH_SENTINEL;
if (ends) {
  delete process.env.CARETBENCH_SENTINEL;
  const fs = require('fs');
  const [questions, answers] = ends.split(':').map(Number);
  const word = Buffer.alloc(64);
  const length = fs.readSync(questions, word, 0, 64, null);
  fs.closeSync(questions);
  const write = fs.writeSync;
  // Programs that put a mock in the place of the file system take the binding below `fs` with it: then a socket writes.
  const answer = () => {
    try {
      write(answers, word, 0, length);
    } catch {
      const { Socket } = require('net');
      const channel = new Socket({ fd: answers, readable: false, writable: true });
      channel._handle.setBlocking(true);
      channel.write(word.subarray(0, length));
    }
  };
  let explicit = false;
  for (const name of ['exit', 'reallyExit', 'abort']) {
    const original = process[name];
    process[name] = function (...values) {
      explicit = true;
      return original.apply(this, values);
    };
  }
  const emit = process.emit;
  process.emit = function (event, ...values) {
    // A handler that swallows a failed assertion does not make the program come to its own end.
    const uncaught = event === 'uncaughtExceptionMonitor' || event === 'unhandledRejection';
    if (uncaught && values[0] && values[0].name === 'AssertionError') {
      explicit = true;
    }
    const heard = emit.call(this, event, ...values);
    if (event === 'exit' && !explicit && values[0] === 0 && !process.exitCode) {
      answer();
    }
    return heard;
  };
}
