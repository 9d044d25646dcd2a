import { describe, expect, it } from 'vitest';
import { problemOfAgentName } from './permissions.ts';

describe("[AP-7] an agent's name", () => {
  it.each(['Claude Code', 'MCP agent', 'Агент Алисы', 'my-agent (phone)', 'Zed', 'x'])(
    'may be %s',
    (name) => {
      expect(problemOfAgentName(name)).toBe(undefined);
    },
  );

  it.each([
    ['', 'empty'],
    [' \u0020', 'empty'],
    ['Zed\nHIGH', 'characters'],
    ['Zed\u202e', 'characters'],
    ['Z\u0435d', 'characters'],
    ['You', 'somebody else'],
    [' agent ', 'somebody else'],
    ['Вы', 'somebody else'],
    ['countersign', 'somebody else'],
    ['Person', 'somebody else'],
    ['человек', 'somebody else'],
    ['Outside  agent', 'somebody else'],
    ['Внешний агент', 'somebody else'],
    ['Front end', 'somebody else'],
    ['Программа', 'somebody else'],
    ['Runner', 'somebody else'],
    ['Исполнитель', 'somebody else'],
    ['Agent wants to read README.md; it', 'sentence'],
    ['Агент хочет прочитать a.md; он', 'sentence'],
    ['Zed WANTS  to', 'sentence'],
    ['Zed хочет', 'sentence'],
  ])('may not be %j', (name, problem) => {
    expect(problemOfAgentName(name)).toContain(problem);
  });
});
