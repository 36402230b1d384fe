// Loaded before a program: writes the completion word when the program came to its own end with exit status 0.
// An explicit process.exit, whatever its status, is no such end.
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
    const answer = emit.call(this, event, ...values);
    if (event === 'exit' && !explicit && values[0] === 0 && !process.exitCode) {
      write(answers, word, 0, length);
    }
    return answer;
  };
}
