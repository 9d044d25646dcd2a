import type { ServerStatus } from '@countersign/tool-runner';
import type { Words } from '../words.ts';
import type { ToolsWords } from './tools-words.ts';

/** Something about a tool server that the person should hear of. */
export interface ToolNotice {
  readonly server: { readonly name: string; readonly state: string; readonly problem: string };
  readonly says: string;
}

/** Says once what keeps a tool server from working, and what to do; again only when it has worked meanwhile. */
export class ToolNotices {
  readonly #words: ToolsWords;
  readonly #said: Words['said'];
  #told = new Set<string>();

  constructor(words: ToolsWords, said: Words['said']) {
    this.#words = words;
    this.#said = said;
  }

  news(servers: readonly ServerStatus[]): readonly ToolNotice[] {
    const notices = servers.flatMap((server): ToolNotice[] => {
      const { name, state, problem } = server;
      if (problem === undefined || state === 'starting') return [];
      const words =
        state === 'not_allowed'
          ? this.#words.notAllowed
          : state === 'unusable'
            ? this.#words.unusable
            : this.#words.failed;
      return [{ server: { name, state, problem }, says: words(name, this.#said(problem)) }];
    });
    const keyOf = ({ server }: ToolNotice): string => JSON.stringify(server);
    const fresh = notices.filter((notice) => !this.#told.has(keyOf(notice)));
    const working = new Set(servers.filter(({ state }) => state === 'starting').map(({ name }) => name));
    const kept = [...this.#told].filter((key) => working.has((JSON.parse(key) as { name: string }).name));
    this.#told = new Set([...kept, ...notices.map(keyOf)]);
    return fresh;
  }
}
