import {
  Diagnostic,
  DocumentSymbol,
  Hover,
  Location,
  LocationLink,
  type MarkedString,
  type MarkupContent,
  type Range,
  type SymbolInformation,
  SymbolKind,
} from 'vscode-languageserver-types';

/** A server's answer does not have the protocol's shape. */
export class MalformedAnswer extends Error {}

export interface ServerLocation {
  readonly uri: string;
  readonly range: Range;
}

export type ServerDiagnostic = Omit<Diagnostic, 'message'> & { readonly message: string };

export interface ServerSymbol {
  readonly name: string;
  readonly kind: string;
  readonly container: string | undefined;
  readonly range: Range;
}

/** The protocol allows one location, a list, or a list of links; null means no location. */
export function readLocations(answer: unknown): readonly ServerLocation[] {
  if (answer === null || answer === undefined) return [];
  return (Array.isArray(answer) ? answer : [answer]).map((item) => {
    if (LocationLink.is(item)) return { uri: item.targetUri, range: item.targetSelectionRange };
    if (Location.is(item)) return item;
    throw new MalformedAnswer('a location has the wrong shape');
  });
}

/**
 * Symbols from outer to inner, at most `limit`. A range begins at the symbol's name, where hover and references
 * can be asked, and ends where the symbol ends.
 */
export function readSymbols(answer: unknown, limit: number): readonly ServerSymbol[] {
  const list: unknown = answer ?? [];
  if (!Array.isArray(list)) throw new MalformedAnswer('its symbols are not a list');
  const symbols: ServerSymbol[] = [];
  // Not recursive: the server decides how deep its answer is nested.
  const todo = list.map((item: unknown) => ({ item, container: undefined as string | undefined }));
  todo.reverse();
  for (let next = todo.pop(); next !== undefined && symbols.length < limit; next = todo.pop()) {
    const { item, container } = next;
    if (DocumentSymbol.is(item)) {
      const range = { start: item.selectionRange.start, end: item.range.end };
      symbols.push({ name: item.name, kind: kindName(item.kind), container, range });
      for (const child of (item.children ?? []).toReversed())
        todo.push({ item: child, container: item.name });
    } else if (isSymbolInformation(item)) {
      const within = item.containerName === '' ? undefined : item.containerName;
      symbols.push({
        name: item.name,
        kind: kindName(item.kind),
        container: within,
        range: item.location.range,
      });
    } else throw new MalformedAnswer('a symbol has the wrong shape');
  }
  return symbols;
}

export function readDiagnostics(answer: unknown): readonly ServerDiagnostic[] {
  const malformed = new MalformedAnswer('its diagnostics have the wrong shape');
  if (!Array.isArray(answer)) throw malformed;
  return answer.map((item) => {
    if (item === null || !Diagnostic.is(item)) throw malformed;
    return { ...item, message: typeof item.message === 'string' ? item.message : item.message.value };
  });
}

/** Null if the server has nothing to show. */
export function readHover(answer: unknown): string | null {
  if (answer === null || answer === undefined) return null;
  if (!Hover.is(answer)) throw new MalformedAnswer('its hover has the wrong shape');
  const { contents } = answer;
  const text = (Array.isArray(contents) ? contents : [contents]).map(plain).join('\n\n').trim();
  return text === '' ? null : text;
}

function plain(content: MarkupContent | MarkedString): string {
  if (typeof content === 'string') return content;
  return 'language' in content ? `\`\`\`${content.language}\n${content.value}\n\`\`\`` : content.value;
}

/** The older, flat form. */
function isSymbolInformation(item: unknown): item is SymbolInformation {
  const { name, kind, containerName, location } = (item ?? {}) as Record<string, unknown>;
  return (
    typeof name === 'string' &&
    typeof kind === 'number' &&
    (containerName === undefined || typeof containerName === 'string') &&
    Location.is(location)
  );
}

const kindNames = new Map(
  Object.entries(SymbolKind).map(([name, kind]) => [
    kind as number,
    name.replace(/(?<=.)[A-Z]/g, '_$&').toLowerCase(),
  ]),
);
const kindName = (kind: number): string => kindNames.get(kind) ?? 'unknown';
