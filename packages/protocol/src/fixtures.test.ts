import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { checkShown } from './digest.ts';
import { type EventName, eventNames, eventSchemas, maxEventBytes } from './events.ts';
import { previewSchema } from './preview.ts';
import { errorBodySchema } from './rest/error-body.ts';
import { type Route, routes } from './rest/routes.ts';
import { builtInToolNames, catalogue, parseToolCall, resultSchemaOf } from './tools/catalogue.ts';
import type { ToolDefinition } from './tools/definition.ts';

const folder = new URL('../fixtures/', import.meta.url);
const filesIn = (name: string) => readdirSync(new URL(`${name}/`, folder)).sort();
const textOf = (file: string) => readFileSync(new URL(file, folder), 'utf8');
const examplesIn = (file: string) => JSON.parse(textOf(file)) as unknown[];

/** What each file in bodies/ is parsed with. */
const bodySchemas: Record<string, z.ZodType> = {
  'error.response.json': errorBodySchema,
  ...Object.fromEntries(
    Object.entries<Route>(routes).flatMap(([name, { body, response }]) => [
      ...(body ? [[`${name}.request.json`, body]] : []),
      ...(response === 'stream' ? [] : [[`${name}.response.json`, response]]),
    ]),
  ),
};

describe('fixtures', () => {
  it('[EV-1] has one file for each event and no other', () => {
    expect(filesIn('events')).toEqual(eventNames.map((name) => `${name}.json`).sort());
  });

  it('[RE-1] [RE-2] has one file for each body and no other', () => {
    expect(filesIn('bodies')).toEqual(Object.keys(bodySchemas).sort());
  });

  it('[TL-1] has one file for each tool and no other', () => {
    expect(filesIn('tools')).toEqual(builtInToolNames.map((name) => `${name}.json`).sort());
  });

  it('has nothing besides these and the README', () => {
    const besides = ['README.md', 'bodies', 'cards.json', 'digests.json', 'events', 'tools'];
    expect(readdirSync(folder).sort()).toEqual(besides);
  });

  const files = ['events', 'bodies', 'tools'].flatMap((name) =>
    filesIn(name).map((file) => `${name}/${file}`),
  );
  it.each(files)('%s holds no secret and no path of a machine', (file) => {
    const text = textOf(file);
    expect(text).not.toMatch(/\beyJ|\bsk-|\bghp_|\bAKIA|PRIVATE KEY|password/i);
    expect(text).not.toMatch(/\/(home|root|Users|tmp|var|work)\/|[A-Z]:\\\\/);
  });
});

describe('events', () => {
  it.each([...eventNames])(
    '[EV-1] every example of %s is read and comes out unchanged',
    (name: EventName) => {
      const examples = examplesIn(`events/${name}.json`);
      expect(examples.length).toBeGreaterThan(0);
      for (const example of examples) expect(eventSchemas[name].parse(example)).toEqual(example);
    },
  );

  it.each([...eventNames])('[EV-2] every example of %s fits into one event', (name) => {
    const sizes = examplesIn(`events/${name}.json`).map((example) =>
      Buffer.byteLength(JSON.stringify(example)),
    );
    expect(Math.max(...sizes)).toBeLessThan(maxEventBytes);
  });

  it.each([...eventNames])(
    '[EV-1] the examples of %s show every field, also those that may be missing',
    (name) => {
      const shown = new Set(
        examplesIn(`events/${name}.json`).flatMap((example) => Object.keys(example as object)),
      );
      expect([...shown].sort()).toEqual(Object.keys(eventSchemas[name].shape).sort());
    },
  );

  it('[AP-8] the digests of approval requests are those of what they show', () => {
    const checked = examplesIn('events/tool.approval_request.json').map((example) =>
      checkShown(eventSchemas['tool.approval_request'].parse(example)),
    );
    expect(new Set(checked)).toEqual(new Set(['none', 'fits', 'partial']));
  });

  it('[AP-7] shows every kind of preview', () => {
    const examples = examplesIn('events/tool.approval_request.json') as {
      preview: { kind: string } | null;
    }[];
    const kinds = previewSchema.options.map((option) => option.shape.kind.value);
    expect(new Set(examples.map(({ preview }) => preview?.kind))).toEqual(new Set([undefined, ...kinds]));
  });
});

describe('cards.json', () => {
  const cards = examplesIn('cards.json').map((card) => eventSchemas['tool.approval_request'].parse(card));

  it('[AP-1] has a request for every built-in tool, each read unchanged', () => {
    expect(cards).toEqual(examplesIn('cards.json'));
    expect(cards.map(({ tool_name }) => tool_name)).toEqual(expect.arrayContaining(builtInToolNames.slice()));
  });

  it('[AP-8] has the digests of what it shows, but for the forged one', () => {
    const unfit = cards.filter((card) => checkShown(card) === 'differs');
    expect(unfit.map(({ approval_id }) => approval_id)).toEqual(['forged-preview']);
  });
});

describe('bodies', () => {
  const requests = Object.entries(bodySchemas).filter(([file]) => file.endsWith('.request.json'));
  const responses = Object.entries(bodySchemas).filter(([file]) => file.endsWith('.response.json'));

  it.each(requests)(
    '[RE-3] every example of %s is accepted; defaults are added, nothing is lost',
    (file, schema) => {
      for (const example of examplesIn(`bodies/${file}`)) {
        const parsed = schema.parse(example);
        expect(parsed).toMatchObject(example as object);
        expect(schema.parse(parsed)).toEqual(parsed);
      }
    },
  );

  it.each(responses)('[RE-3] every example of %s is read and comes out unchanged', (file, schema) => {
    for (const example of examplesIn(`bodies/${file}`)) expect(schema.parse(example)).toEqual(example);
  });

  it.each(Object.keys(bodySchemas))('%s has an example', (file) => {
    expect(examplesIn(`bodies/${file}`).length).toBeGreaterThan(0);
  });
});

describe('tools', () => {
  interface ToolFixture {
    readonly params: object[];
    readonly success: object[];
    readonly failure: object[];
  }
  const fixtureOf = ({ name }: ToolDefinition) => JSON.parse(textOf(`tools/${name}.json`)) as ToolFixture;

  it.each(catalogue)('[TL-1] $name takes every example of its parameters', (tool) => {
    const { params } = fixtureOf(tool);
    expect(params.length).toBeGreaterThan(0);
    for (const example of params) {
      expect(parseToolCall(tool.name, example)).toMatchObject({ ok: true, call: { params: example } });
    }
  });

  it.each(catalogue)('[TL-2] $name comes back with every example of its results, unchanged', (tool) => {
    const { success, failure } = fixtureOf(tool);
    expect([success.length, failure.length]).not.toContain(0);
    for (const example of success) expect(tool.result.parse(example)).toEqual(example);
    for (const example of failure) {
      expect(example).toMatchObject({ success: false });
      expect(resultSchemaOf(tool).parse(example)).toEqual(example);
    }
  });
});
