import { z } from 'zod';
import { defineToolRow, pathParameter } from './definition.ts';

const path = pathParameter('The file');
const position = {
  path,
  line: z.int().min(1).describe('Counted from 1.'),
  col: z.int().min(1).describe('Counted from 1, in characters.'),
};

const range = {
  line: z.int(),
  col: z.int(),
  end_line: z.int(),
  end_col: z.int(),
};

const locationSchema = z.strictObject({
  path: z.string(),
  ...range,
  text: z.string().describe('That line of the file.'),
});

const locations = z.strictObject({
  success: z.literal(true),
  locations: z.array(locationSchema),
  truncated: z.boolean(),
  outside_workspace: z
    .int()
    .optional()
    .describe(
      "How many more there are in places that tools cannot open, such as the language's own library.",
    ),
});

export const lspTools = [
  defineToolRow({
    name: 'diagnostics',
    category: 'lsp',
    description: 'Errors and warnings of the language server for one file.',
    parameters: z.strictObject({ path }),
    result: z.strictObject({
      success: z.literal(true),
      diagnostics: z.array(
        z.strictObject({
          ...range,
          severity: z.enum(['error', 'warning', 'information', 'hint']),
          message: z.string(),
          source: z.string().optional(),
          code: z.string().optional(),
          text: z.string(),
        }),
      ),
      truncated: z.boolean(),
    }),
    baseRisk: 'LOW',
    kind: 'read',
    changes: 'nothing',
  }),
  defineToolRow({
    name: 'symbols',
    category: 'lsp',
    description: 'The symbols that one file defines: classes, functions, variables.',
    parameters: z.strictObject({ path }),
    result: z.strictObject({
      success: z.literal(true),
      symbols: z.array(
        z.strictObject({
          name: z.string(),
          kind: z.string(),
          container: z.string().optional(),
          ...range,
          text: z.string(),
        }),
      ),
      truncated: z.boolean(),
    }),
    baseRisk: 'LOW',
    kind: 'read',
    changes: 'nothing',
  }),
  defineToolRow({
    name: 'hover',
    category: 'lsp',
    description: 'What the language server says of the symbol at a position: its type and documentation.',
    parameters: z.strictObject(position),
    result: z.strictObject({ success: z.literal(true), contents: z.string().nullable(), text: z.string() }),
    baseRisk: 'LOW',
    kind: 'read',
    changes: 'nothing',
    readsBeyond: 'project',
  }),
  defineToolRow({
    name: 'definition',
    category: 'lsp',
    description: 'Where the symbol at a position is defined.',
    parameters: z.strictObject(position),
    result: locations,
    baseRisk: 'LOW',
    kind: 'read',
    changes: 'nothing',
    readsBeyond: 'project',
  }),
  defineToolRow({
    name: 'references',
    category: 'lsp',
    description: 'Where the symbol at a position is used.',
    parameters: z.strictObject(position),
    result: locations,
    baseRisk: 'LOW',
    kind: 'read',
    changes: 'nothing',
    readsBeyond: 'project',
  }),
] as const;
