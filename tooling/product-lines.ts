/** `npm run lines`: counts product lines by workspace, without tests, test data, fixtures and goldens. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const isProduct = (file: string): boolean =>
  /^(apps|packages)\/.*\.(tsx?|mjs|js|el|css|html)$/.test(file) &&
  !/\.test\.tsx?$|\.test-data\.|\/(fixtures|goldens|test|testing)\//.test(file);

const lines = new Map<string, number>();
for (const file of execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n').filter(isProduct)) {
  const workspace = file.split('/').slice(0, 2).join('/');
  const count = readFileSync(file, 'utf8').split('\n').length - 1;
  lines.set(workspace, (lines.get(workspace) ?? 0) + count);
}
for (const [workspace, count] of lines) console.log(`${String(count).padStart(7)}  ${workspace}`);
console.log(`${String([...lines.values()].reduce((sum, count) => sum + count, 0)).padStart(7)}  together`);
