import type { ServerStatus } from '@countersign/tool-runner';
import type { Words } from '../words.ts';

/** A message about a tool server for the person. */
export interface ToolNotice {
  readonly server: { readonly name: string; readonly state: string; readonly problem: string };
  readonly says: string;
}

/** Reports once why a tool server does not work and what to do; again only after it has worked. */
export class ToolNotices {
  readonly #words: Words['tools'];
  readonly #said: Words['said'];
  #told = new Set<string>();

  constructor(words: Words['tools'], said: Words['said']) {
    this.#words = words;
    this.#said = said;
  }

  news(servers: readonly ServerStatus[]): readonly ToolNotice[] {
    const notices = servers.flatMap((server): ToolNotice[] => {
      const { name, state, problem } = server;
      if (problem === undefined || state === 'starting') return [];
      const { notAllowed, unusable, failed } = this.#words;
      const sentence = state === 'not_allowed' ? notAllowed : state === 'unusable' ? unusable : failed;
      return [{ server: { name, state, problem }, says: sentence(name, this.#said(problem)) }];
    });
    const keyOf = ({ server }: ToolNotice): string => JSON.stringify(server);
    const fresh = notices.filter((notice) => !this.#told.has(keyOf(notice)));
    const working = new Set(servers.filter(({ state }) => state === 'starting').map(({ name }) => name));
    const kept = [...this.#told].filter((key) => working.has((JSON.parse(key) as { name: string }).name));
    this.#told = new Set([...kept, ...notices.map(keyOf)]);
    return fresh;
  }
}
