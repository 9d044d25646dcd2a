// @vitest-environment happy-dom
import type { EventPayload } from '@countersign/protocol';
import { cleanup, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import { Inbox } from '../index.ts';
import { examples, openPage } from '../page-fixture.test-data.tsx';

afterEach(cleanup);

it.each(['en', 'ru'] as const)('[AP-1] [UI-1] the text of every card in %s', async (language) => {
  const page = await openPage(<Inbox />, { language });
  page.server.on('listApprovals', { success: true, approvals: [] });
  const requests = examples<EventPayload<'tool.approval_request'>>('cards');
  await page.server.emit(...requests.map((data) => ({ event: 'tool.approval_request', data }) as const));
  const texts = screen
    .getAllByRole('article')
    .filter(({ dataset }) => requests.some(({ approval_id }) => approval_id === dataset.approval))
    .map((card) => `=== ${card.dataset.approval}\n${linesOf(card).join('\n')}\n`);
  expect(texts).toHaveLength(requests.length);
  await expect(texts.join('\n')).toMatchFileSnapshot(`goldens/cards.${language}.txt`);
});

const inline = new Set(['A', 'B', 'CODE', 'EM', 'KBD', 'MARK', 'SMALL', 'SPAN', 'STRONG', 'TIME']);

/** The text of an element, with a line for each element that is not part of a line. */
function linesOf(element: Element): string[] {
  const text = [...element.childNodes].reduce((whole, node) => {
    if (node.nodeType !== node.ELEMENT_NODE) return whole + (node.textContent ?? '');
    const inner = linesOf(node as Element).join('\n');
    return inline.has((node as Element).tagName) ? whole + inner : `${whole}\n${inner}\n`;
  }, '');
  return text.split('\n').filter((line) => line.trim() !== '');
}
