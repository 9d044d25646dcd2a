import { common, createLowlight } from 'lowlight';

/** A piece of a line, with the class of its colour; empty for none. */
export interface Token {
  readonly text: string;
  readonly name: string;
}

const lowlight = createLowlight(common);
type Node = ReturnType<typeof lowlight.highlight>['children'][number];

/** The language of a file by the end of its name; undefined if there is no highlighting for it. */
export function languageOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  const ending = name.slice(name.lastIndexOf('.') + 1);
  const language = Object.hasOwn(aliases, ending) ? (aliases[ending] as string) : ending;
  return lowlight.registered(language) ? language : undefined;
}

/** Endings that the highlighter does not know as names of their language. */
const aliases: Readonly<Record<string, string>> = {
  mts: 'typescript',
  cts: 'typescript',
  vue: 'xml',
  h: 'c',
  hpp: 'cpp',
  makefile: 'makefile',
};

/** The lines of a text in the colours of a language. */
export function highlightLines(text: string, language: string): readonly (readonly Token[])[] {
  const lines: Token[][] = [[]];
  const add = (value: string, name: string) => {
    for (const [index, part] of value.split('\n').entries()) {
      if (index > 0) lines.push([]);
      if (part !== '') lines.at(-1)?.push({ text: part, name });
    }
  };
  const walk = (nodes: readonly Node[], name: string) => {
    for (const node of nodes) {
      if (node.type === 'text') add(node.value, name);
      else if (node.type === 'element') {
        const own = node.properties.className;
        walk(node.children, Array.isArray(own) ? own.join(' ') : name);
      }
    }
  };
  walk(lowlight.highlight(language, text).children, '');
  return lines;
}
