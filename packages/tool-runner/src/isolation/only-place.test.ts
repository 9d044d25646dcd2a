import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const source = join(import.meta.dirname, '..');

it('[RN-5] programs are started here and nowhere else in the runner', () => {
  const files = globSync('**/*.ts', { cwd: source }).filter((file) => !/\.(test|test-data)\.ts$/.test(file));
  const starting = files.filter((file) =>
    /^import (?!type )[^;]*\b(spawn|exec|fork)\w*\b[^;]*from 'node:child_process'/m.test(
      readFileSync(join(source, file), 'utf8'),
    ),
  );
  expect(starting.sort()).toEqual([
    // Our own copy of ripgrep, which only reads, with arguments of ours and paths that were checked.
    'files/ripgrep.ts',
    // The person's own git, for an approved push or fetch, in a repository of ours (RN-6).
    'git/persons-git.ts',
    // Asks git for the person's name, outside of any repository.
    'isolation/command-environment.ts',
    // Bubblewrap with nothing but namespaces: the place that the commands of a conversation share.
    'isolation/conversation-place.ts',
    'isolation/isolation-probe.ts',
    // Node with code of ours, which makes a listening socket in a conversation's network, hands it over and ends.
    'isolation/place-listener.ts',
    // mv, to another disk: it takes names that are not UTF-8.
    'isolation/planted-places.ts',
    'isolation/process-starter.ts',
    // Node with code of ours, which connects into a conversation's network for the person's browser.
    'ports/place-connector.ts',
  ]);
});
