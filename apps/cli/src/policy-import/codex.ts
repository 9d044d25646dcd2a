import { type Effect, type ForeignRule, objectAt, unreadable } from './foreign-rule.ts';
import { parseToml } from './toml.ts';

/** `config.toml` of Codex. It has modes, trust and a sandbox, which cannot be imported as rules. */
export function readCodexConfig(text: string, file: string): ForeignRule[] {
  const config = parseToml(text, file);
  const rules: ForeignRule[] = [];
  const tell = (line: string, reason: 'mode' | 'trusted' | 'network' | 'outside'): void => {
    rules.push({ file, text: line, effect: 'allow', wanted: { kind: 'unknown', reason } });
  };
  for (const name of ['approval_policy', 'sandbox_mode'] as const)
    if (config[name] !== undefined) tell(`${name} = ${JSON.stringify(config[name])}`, 'mode');
  for (const [path, project] of Object.entries(objectAt(config.projects, file, 'projects')))
    if (objectAt(project, file, `projects."${path}"`).trust_level === 'trusted')
      tell(`[projects."${path}"] trust_level = "trusted"`, 'trusted');
  const sandbox = objectAt(config.sandbox_workspace_write, file, 'sandbox_workspace_write');
  if (sandbox.network_access === true) tell('network_access = true', 'network');
  for (const root of Array.isArray(sandbox.writable_roots) ? sandbox.writable_roots : [])
    tell(`writable_roots: ${String(root)}`, 'outside');
  return rules;
}

const effects: Readonly<Record<string, Effect>> = { allow: 'allow', prompt: 'ask', forbidden: 'deny' };

/**
 * A rules file of Codex: calls of `prefix_rule`, in a language like Python. Other calls are reported as not understood.
 */
export function readCodexRules(text: string, file: string): ForeignRule[] {
  return new Calls(text, file).read().map(({ name, given, source }): ForeignRule => {
    const unknown = { kind: 'unknown', reason: 'not_understood' } as const;
    if (name !== 'prefix_rule') return { file, text: source, effect: 'allow', wanted: unknown };
    const effect = effects[String(given.get('decision') ?? 'allow')];
    if (!effect) throw unreadable(file, `there is no decision ${JSON.stringify(given.get('decision'))}`);
    const pattern = given.get('pattern');
    if (!Array.isArray(pattern)) throw unreadable(file, `${source.slice(0, 80)} has no pattern`);
    const words = pattern.map((token) => (Array.isArray(token) ? token.map(String) : [String(token)]));
    const shown = words.map((each) => (each.length === 1 ? each[0] : `[${each.join('|')}]`)).join(' ');
    return { file, text: `prefix_rule ${shown}`, effect, wanted: { kind: 'words', words } };
  });
}

interface Call {
  readonly name: string;
  readonly given: ReadonlyMap<string, unknown>;
  readonly source: string;
}

/** Reads calls with named arguments whose values are texts, lists and the constants of Python. */
class Calls {
  readonly #text: string;
  readonly #file: string;
  #at = 0;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
  }

  read(): Call[] {
    const calls: Call[] = [];
    for (;;) {
      this.#space();
      if (this.#at >= this.#text.length) return calls;
      const from = this.#at;
      const name = this.#match(/[A-Za-z_]\w*/y)?.[0];
      this.#space();
      if (name === undefined || !this.#take('(')) this.#fail('expected prefix_rule(…)');
      const given = new Map<string, unknown>();
      for (;;) {
        this.#space();
        if (this.#take(')')) break;
        const key = this.#match(/([A-Za-z_]\w*)\s*=/y)?.[1];
        if (key === undefined) this.#fail('expected a named argument');
        given.set(key as string, this.#value());
        this.#space();
        if (!this.#take(',') && !this.#text.startsWith(')', this.#at)) this.#fail('expected , or )');
      }
      calls.push({
        name: name as string,
        given,
        source: this.#text.slice(from, this.#at).replaceAll(/\s+/g, ' '),
      });
    }
  }

  #value(): unknown {
    this.#space();
    const quoted = this.#match(/"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'/y);
    if (quoted)
      return (quoted[1] ?? quoted[2] ?? '').replace(
        /\\(.)/g,
        (_, sign) => ({ n: '\n', t: '\t' })[sign as 'n'] ?? sign,
      );
    if (this.#take('[') || this.#take('(')) {
      const items: unknown[] = [];
      for (;;) {
        this.#space();
        if (this.#take(']') || this.#take(')')) return items;
        items.push(this.#value());
        this.#space();
        this.#take(',');
      }
    }
    const word = this.#match(/True|False|None|-?\d+(\.\d+)?/y)?.[0];
    return word ?? this.#fail('expected a text or a list');
  }

  #space(): void {
    this.#match(/(?:\s|#[^\n]*)*/y);
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found) this.#at += found[0].length;
    return found;
  }

  #take(sign: string): boolean {
    if (!this.#text.startsWith(sign, this.#at)) return false;
    this.#at += sign.length;
    return true;
  }

  #fail(problem: string): never {
    const line = this.#text.slice(0, this.#at).split('\n').length;
    throw unreadable(this.#file, `line ${line}: ${problem}`);
  }
}
