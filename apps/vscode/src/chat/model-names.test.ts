import { describe, expect, it } from 'vitest';
import { isModelName, withRecent } from './model-names.ts';

describe('names of models', () => {
  it.each([
    ['manual', true],
    ['anthropic:claude-sonnet-4-5', true],
    ['openai-compatible:llama3:8b', true],
    ['gpt', false],
    ['openai:', false],
    ['openai:two words', false],
    ['', false],
  ])('"%s": %s', (name, isName) => {
    expect(isModelName(name)).toBe(isName);
  });

  it('keeps the last five, newest first, each once', () => {
    expect(withRecent(['b', 'a', 'c'], 'a')).toEqual(['a', 'b', 'c']);
    expect(withRecent(['1', '2', '3', '4', '5'], '6')).toEqual(['6', '1', '2', '3', '4']);
  });
});
