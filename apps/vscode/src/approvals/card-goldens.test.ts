import { readFileSync } from 'node:fs';
import { scopeChoices } from '@countersign/approvals';
import { checkedCard } from '@countersign/protocol';
import type { ApprovalRequest } from '@countersign/tool-runner';
import { expect, it } from 'vitest';
import { wordsFor } from '../words.ts';
import { requestText } from './preview-text.ts';
import { requestTitle, scopeTitle } from './request-title.ts';

const file = new URL('../../../../packages/protocol/fixtures/cards.json', import.meta.url);
const requests = JSON.parse(readFileSync(file, 'utf8')) as ApprovalRequest[];

it.each(['en', 'ru'])('[AP-1] [UI-2] the text of every request in a dialog in %s', async (language) => {
  const words = wordsFor(language);
  const texts = requests
    .map((request) => checkedCard(request))
    .map((request) =>
      [
        `=== ${request.approval_id}`,
        requestTitle(request, words),
        words.approval.risk[request.risk_level],
        requestText(request, words),
        ...scopeChoices(request.offered_scopes).map((choice) => `wider: ${scopeTitle(choice, words)}`),
        '',
      ].join('\n'),
    );
  await expect(texts.join('\n')).toMatchFileSnapshot(`goldens/dialogs.${language}.txt`);
});
