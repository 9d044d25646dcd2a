/**
 * A fake npm for the tests of the set-up: does what `npm ci` does to the disk, or fails as npm fails. Its file name begins
 * with `npm`, because npm-ci.mjs starts no other program as npm.
 */
import { appendFileSync, copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { argv, env, exit } from 'node:process';

appendFileSync('npm-runs', `${argv.slice(2).join(' ')}\n`);

if (env.FAKE_NPM === 'offline') {
  console.error('npm error code ENOTFOUND\nnpm error network request to the registry failed');
  exit(1);
}
if (env.FAKE_NPM === 'broken') {
  console.error('npm error the lock file is out of step');
  exit(1);
}

rmSync('node_modules', { recursive: true, force: true });
mkdirSync('node_modules');
// Half-way: a test may hold it here, or close the connection to make it end unfinished.
if (env.FAKE_NPM_GATE !== undefined && !(await waitAtGate(env.FAKE_NPM_GATE))) exit(1);
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
for (const path of Object.keys(packages)) mkdirSync(path || '.', { recursive: true });
copyFileSync('package-lock.json', 'node_modules/.package-lock.json');

/** @returns {Promise<boolean>} */
function waitAtGate(/** @type {string} */ gate) {
  return new Promise((resolve) => {
    const line = connect(gate);
    line.on('data', () => resolve(true));
    line.on('error', () => resolve(false));
    line.on('close', () => resolve(false));
  });
}
