import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createModels } from './model-registry.ts';

// The SDK would take a key from the environment by itself: ours comes from the configuration only.
const saved = { ...process.env };
beforeEach(() => {
  process.env.ANTHROPIC_API_KEY = 'from-the-environment';
  process.env.OPENAI_API_KEY = 'from-the-environment';
  process.env.ANTHROPIC_BASE_URL = 'http://elsewhere.example/v1';
  process.env.OPENAI_BASE_URL = 'http://elsewhere.example/v1';
});
afterEach(() => {
  process.env = { ...saved };
});

const problem = (settings: Parameters<typeof createModels>[0], name: string): string => {
  try {
    createModels(settings).find(name);
    return 'none';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('models by name', () => {
  it('[AG-1] has the manual model without any setting', () => {
    const models = createModels({ model: 'manual' });
    expect(models.find(models.defaultName).name).toBe('manual');
  });

  it('[AG-1] keeps a limited number of models, whatever names people use', () => {
    const models = createModels({ model: 'manual', modelUrl: 'http://localhost:11434/v1' });
    const first = models.find('openai-compatible:first');
    for (let i = 0; i < 150; i += 1) models.find(`openai-compatible:${i}`);
    expect(models.find('openai-compatible:149')).toBe(models.find('openai-compatible:149'));
    expect(models.find('openai-compatible:first')).not.toBe(first);
  });

  it('[AG-1] makes each provider’s models once', () => {
    const models = createModels({
      model: 'anthropic:claude-sonnet-5',
      modelKey: 'a',
      modelUrl: 'http://localhost:11434/v1',
      providerKeys: { openai: 'o' },
    });
    for (const name of ['anthropic:claude-sonnet-5', 'openai:gpt-6', 'openai-compatible:llama3:8b']) {
      expect(models.find(name).name).toBe(name);
      expect(models.find(name)).toBe(models.find(name));
    }
  });

  it.each([
    [
      'anthropic:claude',
      'The model anthropic:claude needs an Anthropic key (modelKey, or ANTHROPIC_API_KEY). Set it, or use the built-in manual model.',
    ],
    [
      'openai:gpt',
      'The model openai:gpt needs an OpenAI key (modelKey, or OPENAI_API_KEY). Set it, or use the built-in manual model.',
    ],
    [
      'openai-compatible:llama',
      'The model openai-compatible:llama needs the address of its server (modelUrl). Set it, or use the built-in manual model.',
    ],
    [
      'mistral:large',
      'The model mistral:large needs a provider before the colon: anthropic, openai or openai-compatible. Set it, or use the built-in manual model.',
    ],
    [
      'gpt',
      'The model gpt needs a provider before the colon: anthropic, openai or openai-compatible. Set it, or use the built-in manual model.',
    ],
    [
      'openai:',
      'The model openai: needs the name of a model after the colon. Set it, or use the built-in manual model.',
    ],
  ])('[AG-1] says what %s needs', (name, message) => {
    expect(problem({ model: 'manual' }, name)).toBe(message);
  });

  it('[AP-9] sends a key only to its own provider', () => {
    const url = 'http://localhost:11434/v1';
    expect(problem({ model: 'anthropic:claude', modelKey: 'k' }, 'openai:gpt')).toMatch(
      /needs an OpenAI key/,
    );
    expect(problem({ model: 'manual', modelKey: 'k', modelUrl: url }, 'anthropic:claude')).toMatch(
      /needs an Anthropic key/,
    );
    expect(problem({ model: 'openai:gpt', modelKey: 'k' }, 'openai:gpt')).toBe('none');
    expect(problem({ model: 'manual', modelKey: 'k', modelUrl: url }, 'openai-compatible:x')).toBe('none');
  });

  it('[AG-1] sends the key to the provider itself, and asks OpenAI to keep nothing', async () => {
    const sent: { url: string; headers: Headers; body: { model: string; store?: boolean } }[] = [];
    const fetch: typeof globalThis.fetch = async (url, init) => {
      sent.push({
        url: String(url),
        headers: new Headers(init?.headers),
        body: JSON.parse(String(init?.body)),
      });
      return new Response('{}', { status: 401, headers: { 'content-type': 'application/json' } });
    };
    const models = createModels(
      { model: 'manual', providerKeys: { anthropic: 'key-a', openai: 'key-o' } },
      { fetch },
    );
    for (const name of ['anthropic:claude-x', 'openai:gpt-x']) {
      const { signal } = new AbortController();
      const answer = models.find(name).call({ messages: [{ role: 'user', text: 'x' }], tools: [], signal });
      const reading = (async () => {
        for await (const _ of answer);
      })();
      await expect(reading).rejects.toMatchObject({ retryable: false });
    }
    expect(sent.map(({ url, body }) => [url, body.model, body.store])).toEqual([
      ['https://api.anthropic.com/v1/messages', 'claude-x', undefined],
      ['https://api.openai.com/v1/responses', 'gpt-x', false],
    ]);
    expect(sent[0]?.headers.get('x-api-key')).toBe('key-a');
    expect(sent[1]?.headers.get('authorization')).toBe('Bearer key-o');
  });
});
