import { z } from 'zod';
import { errorCodeSchema } from '../errors.ts';
import type { RiskLevel } from '../risk.ts';
import { shortPath } from './short-path.ts';

const toolCategories = ['filesystem', 'command', 'shell', 'git', 'lsp', 'custom'] as const;
export const toolCategorySchema = z.enum(toolCategories);
export type ToolCategory = z.infer<typeof toolCategorySchema>;

/** A custom tool's category is `custom` or a word of its own: that of a built-in tool would pass it off as one. */
export const customCategorySchema = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'not a word of small letters, digits, _ and -, at most 32')
  .refine((word) => word === 'custom' || !toolCategorySchema.safeParse(word).success, {
    error: 'the category of built-in tools',
  });

/** One row of the catalogue (TL-1). Everything else that describes a tool is derived from it. */
export interface ToolDefinition {
  readonly name: string;
  readonly category: ToolCategory;
  /** For the model and for people: what it does, in one or two sentences. */
  readonly description: string;
  readonly parameters: z.ZodObject;
  /** Of a success; every failure has the shape of `toolFailureSchema`. */
  readonly result: z.ZodObject;
  /** The level when nothing is known of the arguments; RiskAssessor decides for each call. */
  readonly baseRisk: RiskLevel;
  /** Whether the person is never asked, always asked, or asked depending on the arguments. */
  readonly approval: 'auto' | 'always' | 'depends';
  /** Read-only calls change nothing: they need no claim, no journal, and may be repeated. */
  readonly readOnly: boolean;
}

/** Keeps the precise types of a definition while checking its shape. */
export const defineToolRow = <const T extends ToolDefinition>(tool: T): T => tool;

export const fileOperations = ['created', 'modified', 'deleted'] as const;
const changedFileSchema = z.strictObject({
  path: z.string().describe('Relative to the workspace root.'),
  operation: z.enum(fileOperations),
});

/** What a call that changed files says of them. */
export const changedFiles = z.array(changedFileSchema);

/** What a call says that ran a program: nothing where no file changed. */
export const changesOfCommand = {
  changed_files: changedFiles.optional(),
  changed_files_incomplete: z
    .string()
    .optional()
    .describe('Why changed_files may lack some of what the command changed.'),
};

/** Every failure of a tool (TL-2). A program that it ran may have changed files before it failed. */
export const toolFailureSchema = z.strictObject({
  success: z.literal(false),
  error: z.string().describe('What happened and what to do next.'),
  code: errorCodeSchema,
  ...changesOfCommand,
});

/** Whoever parses a call, server or runner, goes on with the short form: records, cards, digests and executors agree. */
export const pathParameter = (what: string) =>
  z.string().min(1).overwrite(shortPath).describe(`${what}, relative to the workspace root.`);
