import { describe, expect, it } from 'vitest';
import { fitContext } from './conversation.ts';
import type { ModelMessage } from './model.ts';

const user = (text: string): ModelMessage => ({ role: 'user', text });
const says = (text: string, ...ids: string[]): ModelMessage => ({
  role: 'assistant',
  text,
  toolCalls: ids.map((id) => ({ id, name: 'read_file', params: {} })),
});
const result = (toolCallId: string, content: string): ModelMessage => ({
  role: 'tool',
  toolCallId,
  toolName: 'read_file',
  content,
});

describe('fitContext', () => {
  it('keeps what fits', () => {
    const messages = [user('a'), says('b'), user('c')];
    expect(fitContext(messages, { limit: 10 })).toEqual(messages);
  });

  it('drops the oldest turns whole, never the question that is being answered', () => {
    const old = [user('1'.repeat(50)), says('', 'x'), result('x', '2'.repeat(50)), says('3'.repeat(50))];
    const recent = [user('4'.repeat(50)), says('5'.repeat(50))];
    const current = [user('6'.repeat(50))];
    expect(fitContext([...old, ...recent, ...current], { limit: 160 })).toEqual([...recent, ...current]);
    expect(fitContext([...old, ...recent, ...current], { limit: 20 })).toEqual(current);
  });

  it('[AG-5] keeps the task when a message came while the agent worked on it', () => {
    const old = [user('1'.repeat(50)), says('2'.repeat(50))];
    const task = [user('Port it.'), says('', 'x'), result('x', '3'.repeat(50)), user('Use tabs.')];
    expect(fitContext([...old, ...task], { limit: 20, turnFrom: old.length })).toEqual(task);
  });

  it('then empties old results of the turn that is under way, and keeps each one’s place', () => {
    const results = Array.from({ length: 9 }, (_, i) => [
      says('', `c${i}`),
      result(`c${i}`, 'x'.repeat(1000)),
    ]).flat();
    const fitted = fitContext([user('Go.'), ...results], { limit: 7_500 });
    const contents = fitted.flatMap((message) => (message.role === 'tool' ? [message.content.length] : []));
    expect(contents).toEqual([61, 61, 1000, 1000, 1000, 1000, 1000, 1000, 1000]);
    expect(fitted).toHaveLength(19);
    const most = fitContext([user('Go.'), ...results], { limit: 10 });
    expect(most.filter((message) => message.role === 'tool' && message.content.length === 1000)).toHaveLength(
      6,
    );
  });
});
