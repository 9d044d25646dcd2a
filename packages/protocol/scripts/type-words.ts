import type { z } from 'zod';

/** One field of an object, as the tables of docs/protocol.md show it. */
export interface Field {
  readonly name: string;
  readonly optional: boolean;
  readonly type: string;
  readonly meaning: string;
}

/** The fields of zod's internal definitions that our schemas use. */
interface Definition {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
  readonly valueType?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly entries?: Readonly<Record<string, string>>;
  readonly values?: readonly unknown[];
  readonly defaultValue?: unknown;
  readonly format?: string;
}

/** Describes the type of a schema in a few words. Schemas in `names` are described by their name. */
export class TypeWords {
  readonly #names: ReadonlyMap<unknown, string>;

  /** A name also applies to a copy with another description, because zod's copies share the definition. */
  constructor(names: readonly (readonly [z.ZodType, string])[]) {
    this.#names = new Map(names.map(([schema, name]) => [schema._zod.def, name]));
  }

  fieldsOf(schema: z.ZodObject): readonly Field[] {
    return Object.entries(schema.shape as Record<string, z.ZodType>).map(([name, field]) => {
      const { type } = definitionOf(field);
      const optional = type === 'optional' || type === 'default';
      return { name, optional, type: this.of(field), meaning: meaningOf(field) };
    });
  }

  /** `{name, other?}` for an object. A union is joined by "or" and shows the literals that distinguish its members. */
  inline(schema: z.ZodType): string {
    const { options } = definitionOf(schema);
    if (options === undefined) return this.#fields(schema, ({ name }) => name);
    const told = ({ name, type }: Field) => (type.startsWith('"') ? `${name}: ${type}` : name);
    return options.map((option) => this.#fields(option, told)).join(' or ');
  }

  #fields(schema: z.ZodType, show: (field: Field) => string): string {
    const fields = this.fieldsOf(schema as z.ZodObject);
    return `{${fields.map((field) => show(field) + (field.optional ? '?' : '')).join(', ')}}`;
  }

  of(schema: z.ZodType): string {
    const named = this.#names.get(schema._zod.def);
    if (named !== undefined) return named;
    const definition = definitionOf(schema);
    const inner = () =>
      this.of((definition.innerType ?? definition.element ?? definition.valueType) as z.ZodType);
    switch (definition.type) {
      case 'optional':
        return inner();
      case 'default':
        return `${inner()} = ${JSON.stringify(definition.defaultValue)}`;
      case 'nullable':
        return `${inner()} or null`;
      case 'array': {
        const element = inner();
        return element.includes(' ') ? `(${element})[]` : `${element}[]`;
      }
      case 'record':
        return `object of ${inner()}`;
      case 'union':
        return (definition.options ?? []).map((option) => this.of(option)).join(' or ');
      case 'enum':
        return Object.values(definition.entries ?? {}).join(' \\| ');
      case 'literal':
        return (definition.values ?? []).map((value) => JSON.stringify(value)).join(' \\| ');
      case 'object':
        return this.inline(schema);
      case 'string':
        return definition.format === 'datetime' ? 'time' : 'string';
      case 'number':
        return definition.format === 'safeint' ? 'integer' : 'number';
      case 'unknown':
        return 'any JSON';
      default:
        return definition.type;
    }
  }
}

function definitionOf(schema: z.ZodType): Definition {
  return schema._zod.def as unknown as Definition;
}

/** The description of a schema, or of the schema that it wraps (`optional`, `nullable`). */
function meaningOf(schema: z.ZodType): string {
  const { innerType } = definitionOf(schema);
  return schema.description ?? (innerType ? meaningOf(innerType) : '');
}
