/** Wordings that people misread, and what replaced them. None may come back in what people read. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const retired = [
  'What should be done',
  'What should the agent know',
  'Executes files of the workspace',
  'Could read the sensitive files',
  'It gets network access',
  'Approve and grant',
  'The person stopped this run',
  'Revoking counts at once',
  'Что следует знать агенту',
];

it('finds no wording that was replaced because people misread it', () => {
  const listed = execFileSync('git', ['ls-files', 'packages', 'apps'], { cwd: root, encoding: 'utf8' });
  const files = listed.split('\n').filter((file) => /\.(tsx?|el|json)$/.test(file) && !/test/.test(file));
  expect(files.length).toBeGreaterThan(200);
  const found = files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return retired.filter((wording) => text.includes(wording)).map((wording) => `${file}: ${wording}`);
  });
  expect(found).toEqual([]);
});
