import { expect, it } from 'vitest';
import type { Effect } from './effect.ts';
import { splitWithheld } from './withheld.ts';

const created = (path: string, type: 'file' | 'directory' | 'link', version: string): Effect => ({
  path,
  change: 'created',
  before: undefined,
  after: { type, mode: 0o777, size: 0, version, identity: '1:1:1:1:1' },
});
const places = { executing: [], aliases: [] };

it('[RN-12] looks at the effects once, however many links may stand for a folder', async () => {
  let looks = 0;
  const links = Array.from({ length: 2_000 }, (_, number) => {
    const effect = created(`.link-${number}`, 'link', 'link:nowhere');
    return Object.defineProperty(effect, 'after', {
      get: () => {
        looks += 1;
        return { type: 'link', mode: 0o777, size: 0, version: 'link:nowhere', identity: '1:1:1:1:1' };
      },
    });
  });
  const { landing } = await splitWithheld(links, { root: '/nowhere', places, writableGit: undefined });
  expect(landing).toHaveLength(links.length);
  expect(looks).toBeLessThan(20 * links.length);
});

it('[VA-3] withholds a link through another link to a folder that the same command made', async () => {
  const effects = [
    created('.cargo', 'link', 'link:other'),
    created('other', 'link', 'link:made'),
    created('made', 'directory', 'directory'),
    created('made/config.toml', 'file', 'sha256:1'),
  ];
  const { withheld } = await splitWithheld(effects, { root: '/nowhere', places, writableGit: undefined });
  expect(withheld.map(({ path }) => path)).toEqual(['.cargo']);
});
