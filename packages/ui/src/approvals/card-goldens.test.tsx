// @vitest-environment happy-dom
import type { EventPayload } from '@countersign/protocol';
import { cleanup, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, expect, it } from 'vitest';
import { Inbox } from '../index.ts';
import { examples, openPage, settle } from '../page-fixture.test-data.tsx';

afterEach(cleanup);

it.each(['en', 'ru'] as const)('[AP-1] [UI-1] the text of every card in %s', async (language) => {
  const page = await openPage(<Inbox />, { language });
  page.server.on('listApprovals', { success: true, approvals: [] });
  const requests = examples<EventPayload<'tool.approval_request'>>('cards');
  await page.server.emit(...requests.map((data) => ({ event: 'tool.approval_request', data }) as const));
  const cards = requests.map(({ approval_id }) => {
    const card = screen.getAllByRole('article').find(({ dataset }) => dataset.approval === approval_id);
    if (!card) throw new Error(`No card of ${approval_id}`);
    return { approval_id, card, lines: linesOf(card) };
  });
  const texts: string[] = [];
  for (const { approval_id, card, lines } of cards) {
    texts.push(`=== ${approval_id}`, ...lines);
    card.focus();
    await page.clock.advance(500);
    await userEvent.keyboard('a');
    await settle();
    const form = within(card).queryByRole('form');
    if (form) texts.push('--- wider', ...linesOf(form));
  }
  await expect(`${texts.join('\n')}\n`).toMatchFileSnapshot(`goldens/cards.${language}.txt`);
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
