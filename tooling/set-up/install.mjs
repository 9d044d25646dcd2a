/** The part of the set-up that changes something: runs `npm ci`, then builds the web page. One process at a time. */
import { execFileSync } from 'node:child_process';
import { arch, platform, versions } from 'node:process';
import { SetUpLock } from './lock.mjs';
import { findNode24, packagedNode, runsOnNode24 } from './node-24.mjs';
import { npmLogPath, runNpmCi } from './npm-ci.mjs';
import { showProgress } from './progress.mjs';
import { isInstalledByHand, isSetUp, markAsSetUp, markAsUnfinished } from './stamp.mjs';
import { buildPage, isPageBuilt } from './web-page.mjs';

/**
 * Installs what the lock file asks for.
 * @param {string} root
 * @returns {Promise<string | undefined>} the problem that a person has to fix, or undefined
 */
export async function install(root) {
  if (!runsOnNode24 && packagedNode(root) === undefined) return needsNode24();

  const lock = openLock(root);
  if (typeof lock === 'string') return lock;
  await takeWhenFree(lock);
  try {
    if (!isSetUp(root)) {
      const problem = await installPackages(root, lock);
      if (problem !== undefined) return problem;
      markAsSetUp(root);
    }
    const problem = nodeProblem(root);
    if (problem === undefined) await buildPageIfNeeded(root, lock);
    return problem;
  } finally {
    lock.release();
  }
}

async function installPackages(/** @type {string} */ root, /** @type {SetUpLock} */ lock) {
  if (isInstalledByHand(root)) return undefined;

  const progress = showProgress('Setting up: installing the packages this project needs', () =>
    lock.refresh(),
  );
  try {
    markAsUnfinished(root);
    const result = await runNpmCi(root, { onStart: (pid) => lock.nameWorker(pid) });
    progress.end(result.ok ? 'Set up' : 'The set-up stopped');
    return result.ok ? undefined : npmProblem(root, result);
  } finally {
    progress.stop();
  }
}

/** A page that cannot be built is reported and fails nothing: everything else works without it. */
async function buildPageIfNeeded(/** @type {string} */ root, /** @type {SetUpLock} */ lock) {
  const node = findNode24(root);
  if (node === undefined || isPageBuilt(root)) return;
  const progress = showProgress('Setting up: building the web page', () => lock.refresh());
  try {
    const problem = await buildPage(root, { node, onStart: (pid) => lock.nameWorker(pid) });
    progress.end(problem === undefined ? 'Built the web page' : 'The web page was not built');
    if (problem !== undefined)
      console.error(`${lastLines(problem)}\nEverything else works; the page may be an older one.`);
  } finally {
    progress.stop();
  }
}

/** @returns {SetUpLock | string} */
function openLock(/** @type {string} */ root) {
  try {
    return new SetUpLock(root);
  } catch (failure) {
    const reason = failure instanceof Error ? failure.message : failure;
    return `The packages this project needs are not installed, and ${root} cannot be written to (${reason}).`;
  }
}

async function takeWhenFree(/** @type {SetUpLock} */ lock) {
  let told = false;
  for (let holder = lock.tryTake(); holder !== undefined; holder = lock.tryTake()) {
    if (!told)
      console.error(`Another set-up is at work here (process ${holder.pid}); waiting for it to finish.`);
    told = true;
    await new Promise((resume) => setTimeout(resume, 100));
  }
}

function npmProblem(
  /** @type {string} */ root,
  /** @type {import('./npm-ci.mjs').NpmFailure} */ { why, output },
) {
  if (why === 'not-started') {
    return `Could not run npm (${output}).\nInstall npm 9 or newer, then run the same command again.`;
  }
  if (why === 'stopped') return 'Run the same command again to finish the set-up.';
  if (looksOffline(output)) {
    return `Could not reach the npm registry, so the packages this project needs are not installed.
Connect once and run the same command again; nothing else was changed.
Behind a proxy, set HTTPS_PROXY first. What npm said is in ${npmLogPath(root)}`;
  }
  return `npm could not install the packages this project needs. It said:

${lastLines(output)}

All of it is in ${npmLogPath(root)}
Once that is put right, run the same command again: it starts afresh.`;
}

function lastLines(/** @type {string} */ output) {
  const lines = output.trim().split('\n').slice(-12);
  return lines.map((line) => `  ${line}`).join('\n');
}

function looksOffline(/** @type {string} */ output) {
  const signs =
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ENETDOWN|ENOTCACHED|ERR_SOCKET_TIMEOUT)\b/;
  return signs.test(output);
}

/** An installed Node may still not run on this machine, for example on a Linux without glibc. */
function nodeProblem(/** @type {string} */ root) {
  const path = packagedNode(root);
  if (runsOnNode24 || path === undefined) return undefined;
  try {
    execFileSync(path, ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return needsNode24();
  }
}

function needsNode24() {
  return [
    `Countersign runs on Node 24 or newer; this is Node ${versions.node}, and there is no packaged Node 24`,
    `that works on this machine (${platform} ${arch}). Install Node 24, for example with`,
    platform === 'darwin' ? '`brew install node@24`' : 'your package manager',
    'or from nodejs.org, then run the same command again.',
  ].join('\n');
}
