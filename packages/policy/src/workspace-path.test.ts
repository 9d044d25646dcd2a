import { describe, expect, it } from 'vitest';
import { executingPlaces } from './executing-places.ts';
import { sensitivePlaces } from './sensitive-places.ts';

describe.each([
  ['[VA-2] sensitive places', sensitivePlaces],
  ['[VA-3] places that execute later', executingPlaces],
])('%s', (_, table) => {
  it.each(table.places.map((place) => [place.id, place] as const))(
    '%s holds for its own examples',
    (id, place) => {
      expect(place.matches.filter((path) => table.find(path)?.id !== id)).toEqual([]);
      expect(place.doesNotMatch.filter((path) => table.find(path)?.id === id)).toEqual([]);
    },
  );

  it('has one id for each row', () => {
    expect(new Set(table.places.map(({ id }) => id)).size).toBe(table.places.length);
  });
});

describe('[VA-1] names are compared after NFKC and case folding', () => {
  it.each(['.ENV', '．env', '.ｅｎｖ', '.env.', '.env ', '.env::$DATA', '.e\u200bnv', 'ID_RSA', '.SSH/x'])(
    '%j is sensitive',
    (name) => {
      expect(sensitivePlaces.find(name)).toBeDefined();
    },
  );
});
