import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
/** What the page is made of, from the root of the checkout. */
const sources = [
  'apps/web/index.html',
  'apps/web/vite.config.ts',
  'apps/web/public',
  'apps/web/src',
  'packages/ui/src',
  'packages/client/src',
  'packages/protocol/src',
];

/** In a checkout: whether the built page is missing or older than what it is made of. */
export function pageNeedsBuilding(checkout = root): boolean {
  if (!existsSync(join(checkout, 'apps/web/index.html'))) return false; // an installation comes with its page
  const built = statSync(join(checkout, 'apps/web/dist/index.html'), { throwIfNoEntry: false });
  return !built || sources.some((source) => isNewer(join(checkout, source), built.mtimeMs));
}

function isNewer(path: string, than: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return false;
  if (!found.isDirectory()) return found.mtimeMs > than;
  return readdirSync(path, { recursive: true, withFileTypes: true }).some(
    (entry) => entry.isFile() && statSync(join(entry.parentPath, entry.name)).mtimeMs > than,
  );
}

/** Answers what went wrong, in the words of the builder; undefined when the page is built. */
export function buildPage(checkout = root): Promise<string | undefined> {
  const web = join(checkout, 'apps/web');
  const vite = createRequire(join(web, 'package.json')).resolve('vite/package.json');
  const program = join(vite, '..', 'bin', 'vite.js');
  return new Promise((resolve) => {
    const builder = spawn(process.execPath, [program, 'build', '--logLevel', 'error'], {
      cwd: web,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [builder.stdout, builder.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    }
    builder.once('error', (error) => resolve(error.message));
    builder.once('close', (code) => resolve(code === 0 ? undefined : said.trim() || `exit code ${code}`));
  });
}
