'use strict';

const assert = require('assert');

class DeployError extends Error {}

/** The steps of a release; each gives a promise. */
function makeSteps(host, log) {
  return {
    lock: () => host.lock().then((id) => { log.push(`lock ${id}`); return id; }),
    build: (revision) => host.build(revision),
    upload: (artefact) => host.upload(artefact),
    activate: (release) => host.activate(release),
    rollback: () => host.rollback().then(() => { log.push('rolled back'); }),
    unlock: (id) => host.unlock(id).then(() => { log.push(`unlock ${id}`); }),
  };
}

/**
 * Releases a revision: lock; then build it, upload what was built, and activate what was uploaded. Gives the address
 * that the activation gives.
 *
 * If building, uploading or activating fails, the host is rolled back and the release fails with a DeployError
 * "<revision>: <message of the failure>". Whatever happens, the lock is given back. Without the lock nothing is done
 * at all, and its error comes through as it is.
 */
function release(revision, host, log) {
  const steps = makeSteps(host, log);
  return steps.lock().then((id) => ⟦steps.build(revision)
    .then((artefact) => steps.upload(artefact))
    .then((uploaded) => steps.activate(uploaded))
    .catch((error) => steps.rollback().then(() => {
      throw new DeployError(`${revision}: ${error.message}`);
    }))
    .finally(() => steps.unlock(id)));
}⟧

/** Releases one revision after another until one fails; gives the addresses of those that are live. */
function releaseAll(revisions, host, log) {
  const live = [];
  return revisions
    .reduce((done, revision) => done.then(() => release(revision, host, log)).then((url) => live.push(url)), Promise.resolve())
    .catch((error) => log.push(`stopped: ${error.message}`))
    .then(() => live);
}
⟦tests⟧
let finished = false;
process.on('exit', () => assert.ok(finished, 'the tests did not come to their end'));

function fakeHost(failing) {
  const calls = [];
  const step = (name, give) => (value) => {
    calls.push(name);
    return failing === name ? Promise.reject(new Error(`${name} broke`)) : Promise.resolve(give(value));
  };
  return {
    calls,
    lock: step('lock', () => 17),
    build: step('build', (revision) => `${revision}.tgz`),
    upload: step('upload', (artefact) => `bucket/${artefact}`),
    activate: step('activate', (uploaded) => `https://example.org/${uploaded}`),
    rollback: step('rollback', () => undefined),
    unlock: step('unlock', () => 'ignored'),
  };
}

(async () => {
  let host = fakeHost();
  let log = [];
  assert.strictEqual(await release('v1', host, log), 'https://example.org/bucket/v1.tgz');
  assert.deepStrictEqual(host.calls, ['lock', 'build', 'upload', 'activate', 'unlock']);
  assert.deepStrictEqual(log, ['lock 17', 'unlock 17']);

  const before = ['lock', 'build', 'upload', 'activate'];
  for (const failing of ['build', 'upload', 'activate']) {
    host = fakeHost(failing);
    log = [];
    await assert.rejects(release('v2', host, log), (error) => {
      assert.ok(error instanceof DeployError);
      assert.strictEqual(error.message, `v2: ${failing} broke`);
      return true;
    });
    assert.deepStrictEqual(host.calls, [...before.slice(0, before.indexOf(failing) + 1), 'rollback', 'unlock']);
    assert.deepStrictEqual(log, ['lock 17', 'rolled back', 'unlock 17']);
  }

  host = fakeHost('lock');
  await assert.rejects(release('v3', host, []), (error) => {
    assert.ok(!(error instanceof DeployError));
    assert.strictEqual(error.message, 'lock broke');
    return true;
  });
  assert.deepStrictEqual(host.calls, ['lock']);

  log = [];
  assert.deepStrictEqual(await releaseAll(['a', 'b'], fakeHost(), log), [
    'https://example.org/bucket/a.tgz',
    'https://example.org/bucket/b.tgz',
  ]);
  log = [];
  assert.deepStrictEqual(await releaseAll(['a', 'b'], fakeHost('upload'), log), []);
  assert.deepStrictEqual(log, ['lock 17', 'rolled back', 'unlock 17', 'stopped: a: upload broke']);
  finished = true;
})();
