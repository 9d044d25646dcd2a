import { describe, expect, it } from 'vitest';
import { executingPlaces } from './executing-places.ts';
import { ToolCallPolicy } from './tool-call-policy.ts';

const policy = new ToolCallPolicy({ root: '/home/ann/code/work/project' });
const writing = (path: string): unknown => {
  const { verdict, details } = policy.decide('write_file', { path, content: 'x' });
  return { path, decision: verdict.decision, needsPerson: details?.needsPerson };
};
const writingByShell = (path: string): unknown => {
  const { verdict, details } = policy.decide('shell_exec', { command: `echo x > ${path}` });
  return { path, decision: verdict.decision, needsPerson: details?.needsPerson };
};

describe('[VA-3] writing to a place that executes later', () => {
  const examples = executingPlaces.places.flatMap(({ matches }) => matches);

  it.each(examples)('is HIGH and covered by no grant: %s', (path) => {
    const high = { path, decision: 'HIGH', needsPerson: true };
    expect([writing(path), writingByShell(path)]).toEqual([high, high]);
  });

  it.each([
    ['.mv?/extensions.xml'],
    ['.c?rrus.yml'],
    ['.h[g]/hgrc'],
    ['.simple-git-hooks.js*'],
    ['gradle/wra*/gradle-wrapper.properties'],
  ])('also where a pattern names it: %s', (path) => {
    expect(writingByShell(path)).toEqual({ path, decision: 'HIGH', needsPerson: true });
  });

  it.each(['src/mvn.ts', 'docs/semaphore.md', 'src/vs/editor.ts', 'src/profile.ts', 'tasks.json'])(
    'an ordinary name stays what it is: %s',
    (path) => {
      expect(writing(path)).toEqual({ path, decision: 'MEDIUM', needsPerson: false });
    },
  );
});
