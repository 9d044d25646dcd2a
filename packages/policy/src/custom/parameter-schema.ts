import type { JsonValue } from '@countersign/protocol';
import { shorten } from '../text.ts';

type JsonObject = Readonly<Record<string, JsonValue>>;

/** The most steps of one check. No schema that a person wrote needs more. */
const MAX_STEPS = 20_000;
/** How many attempts of a pattern, or counted characters, cost one step. */
const TRIES_PER_STEP = 1_000;
const MAX_DEPTH = 64;

/**
 * Returns what is wrong with parameters by the tool's own JSON Schema, or undefined. We do not trust the schema: it is
 * interpreted, never compiled, refers only to itself, and the work is bounded. Unknown keywords are ignored; the tool's own
 * program checks again.
 */
export function problemOfParams(schema: JsonObject, params: JsonObject): string | undefined {
  try {
    return new SchemaCheck(schema).problemOf(schema, params, '', 0);
  } catch (error) {
    if (error instanceof TooMuchWork) return 'its schema takes too much work to check';
    throw error;
  }
}

class TooMuchWork extends Error {}

class SchemaCheck {
  readonly #root: JsonObject;
  readonly #patterns = new Map<string, CheckedPattern | undefined>();
  /** Cache: the number of names in each object. */
  readonly #sizes = new Map<JsonObject, number>();
  #steps = 0;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  problemOf(schema: JsonValue | undefined, value: JsonValue, at: string, depth: number): string | undefined {
    this.#spend(1);
    if (depth > MAX_DEPTH) throw new TooMuchWork();
    if (schema === false) return say(at, 'is not allowed');
    if (!isObject(schema)) return undefined;
    const referred = own(schema, '$ref');
    return (
      (typeof referred === 'string'
        ? this.problemOf(this.#find(referred), value, at, depth + 1)
        : undefined) ??
      typeProblem(own(schema, 'type'), value, at) ??
      this.#choiceProblem(schema, value, at) ??
      (typeof value === 'string' ? this.#textProblem(schema, value, at) : undefined) ??
      (typeof value === 'number' ? numberProblem(schema, value, at) : undefined) ??
      (Array.isArray(value) ? this.#listProblem(schema, value, at, depth) : undefined) ??
      (isObject(value) ? this.#objectProblem(schema, value, at, depth) : undefined) ??
      this.#combinedProblem(schema, value, at, depth)
    );
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw new TooMuchWork();
  }

  /** Returns undefined if the pattern is too expensive to try. */
  #matches(source: string, text: string): boolean | undefined {
    if (!this.#patterns.has(source)) this.#patterns.set(source, checkedPattern(source));
    const pattern = this.#patterns.get(source);
    if (!pattern?.mayTry(text)) return undefined;
    this.#spend(1 + pattern.workOn(text) / TRIES_PER_STEP);
    return pattern.matches(text);
  }

  /** Resolves `#` and `#/…` only; other references are never fetched. */
  #find(reference: string): JsonValue | undefined {
    if (reference === '#') return this.#root;
    if (!reference.startsWith('#/')) return undefined;
    let found: JsonValue | undefined = this.#root;
    for (const part of reference.slice(2).split('/', MAX_DEPTH)) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      if (Array.isArray(found)) found = found[Number(name)];
      else found = isObject(found) ? own(found, name) : undefined;
    }
    return found;
  }

  #choiceProblem(schema: JsonObject, value: JsonValue, at: string): string | undefined {
    const choices = own(schema, 'enum');
    if (Array.isArray(choices)) {
      this.#spend(choices.length);
      if (!choices.some((choice) => this.#isSame(choice, value)))
        return say(
          at,
          `is not one of ${shorten(choices.map((choice) => JSON.stringify(choice)).join(', '))}`,
        );
    }
    const constant = own(schema, 'const');
    return constant !== undefined && !this.#isSame(constant, value)
      ? say(at, `is not ${shorten(JSON.stringify(constant))}`)
      : undefined;
  }

  /** Whether two values are equal, whatever the order of names. Takes time bounded by the schema's value. */
  #isSame(ofSchema: JsonValue, given: JsonValue): boolean {
    if (Array.isArray(ofSchema))
      return (
        Array.isArray(given) &&
        given.length === ofSchema.length &&
        ofSchema.every((item, index) => this.#isSame(item, given[index] as JsonValue))
      );
    if (!isObject(ofSchema)) return ofSchema === given;
    if (!isObject(given)) return false;
    const names = Object.keys(ofSchema);
    return (
      this.#sizeOf(given) === names.length &&
      names.every((name) => this.#isSame(own(ofSchema, name) as JsonValue, own(given, name) as JsonValue))
    );
  }

  #sizeOf(given: JsonObject): number {
    const size = this.#sizes.get(given) ?? Object.keys(given).length;
    this.#sizes.set(given, size);
    return size;
  }

  #textProblem(schema: JsonObject, value: string, at: string): string | undefined {
    const least = own(schema, 'minLength');
    const most = own(schema, 'maxLength');
    if (typeof least === 'number' || typeof most === 'number') {
      this.#spend(value.length / TRIES_PER_STEP);
      // Count characters, not UTF-16 units; a very long text need not be counted exactly.
      const length = value.length > 100_000 ? value.length : [...value].length;
      if (typeof least === 'number' && length < least) return say(at, `has fewer than ${least} characters`);
      if (typeof most === 'number' && length > most) return say(at, `has more than ${most} characters`);
    }
    const pattern = own(schema, 'pattern');
    return typeof pattern === 'string' && this.#matches(pattern, value) === false
      ? say(at, `does not match ${shorten(pattern)}`)
      : undefined;
  }

  #listProblem(
    schema: JsonObject,
    value: readonly JsonValue[],
    at: string,
    depth: number,
  ): string | undefined {
    const least = own(schema, 'minItems');
    const most = own(schema, 'maxItems');
    if (typeof least === 'number' && value.length < least) return say(at, `has fewer than ${least} items`);
    if (typeof most === 'number' && value.length > most) return say(at, `has more than ${most} items`);
    const first = own(schema, 'prefixItems');
    const placed = Array.isArray(first) ? first : [];
    for (const [index, item] of value.entries()) {
      const of = index < placed.length ? placed[index] : own(schema, 'items');
      const problem = this.problemOf(of, item, `${at}[${index}]`, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #objectProblem(schema: JsonObject, value: JsonObject, at: string, depth: number): string | undefined {
    const required = own(schema, 'required');
    for (const name of Array.isArray(required) ? required : [])
      if (typeof name === 'string' && !Object.hasOwn(value, name)) return say(below(at, name), 'is missing');
    const listed = own(schema, 'properties');
    const properties = isObject(listed) ? listed : {};
    const byPattern = own(schema, 'patternProperties');
    const patterns = Object.entries(isObject(byPattern) ? byPattern : {});
    const additional = own(schema, 'additionalProperties');
    for (const [name, inner] of Object.entries(value)) {
      const known = own(properties, name);
      this.#spend(patterns.length);
      const tried = patterns.map(([source, of]) => ({ of, fits: this.#matches(source, name) }));
      const isAdditional = known === undefined && tried.every(({ fits }) => fits === false);
      if (isAdditional && additional === false) {
        const names = Object.keys(properties).join(', ');
        return say(below(at, name), `is not known; there are: ${shorten(names) || 'none'}`);
      }
      const matching = tried.flatMap(({ of, fits }) => (fits ? [of] : []));
      const schemas = isAdditional ? [additional] : [...(known === undefined ? [] : [known]), ...matching];
      const problem = this.#firstProblem(schemas, inner, below(at, name), depth);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #combinedProblem(schema: JsonObject, value: JsonValue, at: string, depth: number): string | undefined {
    const list = (name: string): readonly JsonValue[] => {
      const found = own(schema, name);
      return Array.isArray(found) ? found : [];
    };
    const fits = (one: JsonValue): boolean => this.problemOf(one, value, at, depth + 1) === undefined;
    const all = this.#firstProblem(list('allOf'), value, at, depth);
    if (all !== undefined) return all;
    const any = list('anyOf');
    if (any.length > 0 && !any.some(fits)) return say(at, 'fits none of what is allowed');
    const one = list('oneOf');
    if (one.length > 0 && one.filter(fits).length !== 1)
      return say(at, 'does not fit exactly one of what is allowed');
    const not = own(schema, 'not');
    return not !== undefined && fits(not) ? say(at, 'is what it must not be') : undefined;
  }

  #firstProblem(
    schemas: readonly (JsonValue | undefined)[],
    value: JsonValue,
    at: string,
    depth: number,
  ): string | undefined {
    for (const one of schemas) {
      const problem = this.problemOf(one, value, at, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
}

function typeProblem(wanted: JsonValue | undefined, value: JsonValue, at: string): string | undefined {
  const types = Array.isArray(wanted) ? wanted : wanted === undefined ? [] : [wanted];
  const known = types.filter((type): type is string => typeof type === 'string' && typeNames.has(type));
  if (known.length === 0 || known.some((type) => isOfType(type, value))) return undefined;
  return say(at, `is not of type ${known.join(' or ')}`);
}

const typeNames = new Set(['string', 'number', 'integer', 'boolean', 'null', 'array', 'object']);

function isOfType(type: string, value: JsonValue): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

function numberProblem(schema: JsonObject, value: number, at: string): string | undefined {
  const bound = (name: string, isBroken: (limit: number) => boolean, words: string): string | undefined => {
    const limit = own(schema, name);
    return typeof limit === 'number' && isBroken(limit) ? say(at, `${words} ${limit}`) : undefined;
  };
  return (
    bound('minimum', (limit) => value < limit, 'is less than') ??
    bound('maximum', (limit) => value > limit, 'is more than') ??
    bound('exclusiveMinimum', (limit) => value <= limit, 'is not more than') ??
    bound('exclusiveMaximum', (limit) => value >= limit, 'is not less than')
  );
}

const isObject = (value: JsonValue | undefined): value is { [key: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Treats `__proto__` and `constructor` like any other name. */
const own = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

const below = (at: string, name: string): string => (at === '' ? shorten(name) : `${at}.${shorten(name)}`);
const say = (at: string, problem: string): string => `${at === '' ? 'the whole' : at} ${problem}`;

/** A `pattern` of a JSON Schema whose worst-case work is known before it runs. */
export interface CheckedPattern {
  /** About how many steps the text may take, at worst. */
  workOn(text: string): number;
  /** False if the text would take too long: only the tool's own program checks it then. */
  mayTry(text: string): boolean;
  matches(text: string): boolean;
}

/**
 * Compiles a `pattern` that we did not write, if its worst case is bounded: JavaScript's regular expressions backtrack,
 * which can take for ever. Undefined for all others: only the tool's own program checks them.
 */
export function checkedPattern(source: string): CheckedPattern | undefined {
  const ways = source.length > MAX_CHARACTERS ? undefined : waysThrough(source);
  if (!ways || ways.choices > MAX_CHOICES) return undefined;
  let expression: RegExp;
  try {
    expression = new RegExp(source, 'u');
  } catch {
    return undefined;
  }
  const workOn = (text: string): number => ways.choices * (text.length + 1) ** ways.lengths;
  return {
    workOn,
    mayTry: (text) => workOn(text) <= MAX_WORK,
    matches: (text) => expression.test(text),
  };
}

const MAX_CHARACTERS = 200;
const MAX_CHOICES = 1_000;
const MAX_WORK = 2_000_000;

/**
 * The worst-case number of attempts is `choices` times the text's length to the power of `lengths`. Undefined if that is
 * hard to tell: for a repeated group, a lookaround or a back reference.
 */
function waysThrough(source: string): { readonly choices: number; readonly lengths: number } | undefined {
  const plain = source.replace(/\\[^1-9k]/gu, 'x').replace(/\[\^?\]?[^\]]*\]/gu, 'x');
  if (/\\|\(\?[^:]|\)[*+{]/u.test(plain)) return undefined;
  const count = (part: RegExp): number => plain.match(part)?.length ?? 0;
  const bars = count(/\|/gu);
  // In one group, alternatives are tried one after the other; with several groups, every combination is tried.
  const alternatives = count(/\(/gu) > 1 ? 2 ** bars : bars + 1;
  const optional = count(/(?<![*+?}(])\?/gu);
  // Without an anchor, the match is tried from every character on.
  const starts = plain.startsWith('^') && bars === 0 ? 0 : 1;
  return { choices: alternatives * 2 ** optional, lengths: starts + count(/[*+]|\{\d+,?\d*\}/gu) };
}
