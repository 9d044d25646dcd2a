import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Grant, routes } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { wordsFor } from '../words.ts';
import { grantsInForce, grantText } from './grant-text.ts';

const fixture = join(
  import.meta.dirname,
  '../../../../packages/protocol/fixtures/bodies/listGrants.response.json',
);
const [example] = routes.listGrants.response.parse(JSON.parse(readFileSync(fixture, 'utf8'))[0]).grants as [
  Grant,
];
const grant = (change: Partial<Grant>): Grant => ({
  ...example,
  revoked_at: null,
  expires_at: null,
  ...change,
});

describe('[AP-4] the list of grants', () => {
  it('has those in force, newest first', () => {
    const grants = [
      grant({ grant_id: 'old', created_at: '2026-01-01T00:00:00.000Z' }),
      grant({ grant_id: 'revoked', revoked_at: '2026-01-02T00:00:00.000Z' }),
      grant({ grant_id: 'expired', expires_at: '2026-01-02T00:00:00.000Z' }),
      grant({
        grant_id: 'new',
        created_at: '2026-01-03T00:00:00.000Z',
        expires_at: '2027-01-01T00:00:00.000Z',
      }),
    ];
    const ids = grantsInForce(grants, new Date('2026-06-01')).map(({ grant_id }) => grant_id);
    expect(ids).toEqual(['new', 'old']);
  });

  it('says what each covers, as text', () => {
    const texts = [
      grant({ tool: '*', pattern: null, session_id: 's', max_risk: 'HIGH', uses: 1 }),
      grant({
        tool: 'write_file',
        pattern: 'src/**\u001b[2J',
        session_id: null,
        max_risk: 'MEDIUM',
        uses: 3,
      }),
    ].map((one) => grantText(one, wordsFor('en')));
    expect(texts).toEqual([
      { label: 'Every tool · all calls', description: 'HIGH RISK · one conversation · 1 use' },
      {
        label: 'write_file · src/**⟨U+001B⟩[2J',
        description: 'medium risk · every conversation of this workspace · 3 uses',
      },
    ]);
  });
});
