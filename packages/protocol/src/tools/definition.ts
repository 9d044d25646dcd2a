import { z } from 'zod';
import { errorCodeSchema } from '../errors.ts';
import type { Preview } from '../preview.ts';
import type { RiskLevel } from '../risk.ts';
import { visibleLine } from '../visible-text.ts';

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
  /**
   * The level when nothing is known of the arguments; RiskAssessor decides for each call. LOW: the person is not asked
   * unless the file itself calls for it (PATH-5, PATH-6).
   */
  readonly baseRisk: RiskLevel;
  /** Whether some of its calls are LOW although the base risk is not. */
  readonly mayRunUnasked?: true;
  /** What it does, in the words of the Agent Client Protocol. Grants treat editing and deleting as classes of calls (AP-4). */
  readonly kind: 'read' | 'search' | 'edit' | 'delete' | 'move' | 'execute';
  /**
   * What it changes. `nothing`: it is read-only, needs no claim and no journal, and may be repeated. `files`: files or directories of the workspace, with undo copies (RN-3). `repository`: the local git
   * repository. `remote`: another repository. `job`: a background job. `anything`: whatever its command line does.
   */
  readonly changes: 'nothing' | 'files' | 'repository' | 'remote' | 'job' | 'anything';
  /** What it reads besides the files that it names: everything below a folder, or any file of the project. */
  readonly readsBeyond?: 'folders' | 'project';
  /** Its parameters hold the new text of one file: whole (`content`), or a part of it (`old`, `new`). */
  readonly holdsText?: 'whole' | 'part';
  /** Programs that it replaces: a model that tries to run one is told to use this tool. */
  readonly insteadOf?: string;
  /** The rest of the card's sentence "The agent wants to …" (AP-1). Left out: `use NAME`. */
  readonly wants?: (params: CallParams) => string;
  /** Uses that have a sentence of their own. The first that applies counts. */
  readonly uses?: readonly ToolUse[];
}

/** Parameters of a call, validated or not. */
export type CallParams = Readonly<Record<string, unknown>>;

interface ToolUse {
  /** Front ends find their translation of the sentence by this name. */
  readonly intent: string;
  readonly wants: (params: CallParams) => string;
  readonly applies: (params: CallParams, preview: Preview | null) => boolean;
}

/** Checks the shape of a row and keeps its precise types. */
export const defineToolRow = <const T extends ToolDefinition>(tool: T): T => tool;

/** Parameters as a sentence shows them: on one line, hidden characters made visible, cut at 160 characters. */
export function shown(...values: readonly unknown[]): string {
  const line = visibleLine(
    values
      .flat()
      .map((value) => String(value ?? ''))
      .join(' '),
  );
  return line.length <= 160 ? line : `${line.slice(0, 157)}…`;
}

export const fileOperations = ['created', 'modified', 'deleted'] as const;
const changedFileSchema = z.strictObject({
  path: z.string().describe('Relative to the workspace root.'),
  operation: z.enum(fileOperations),
});

/** The files that a call changed. */
export const changedFiles = z.array(changedFileSchema);

/** The files that a program changed; both are left out where none did. */
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

/** Parsing makes the short form of a path. Server and runner both parse, so records, cards, digests and tools agree. */
export const pathParameter = (what: string) =>
  z.string().min(1).overwrite(shortPath).describe(`${what}, relative to the workspace root.`);

/** First components that mean something else without `./` before them: an option, pathspec magic, a home, a drive. */
const NEEDS_DOT = /^(?:[-:~]|[A-Za-z]:)/;

/**
 * A path without its empty and `.` components: `.//a/./b` → `a/b`. A slash at the end stays, since it says that a
 * directory is meant. `..` stays as well: behind a link it does not lead where the text says.
 */
export function shortPath(path: string): string {
  const kept = path.split('/').filter((part) => part !== '' && part !== '.');
  const start = path.startsWith('/')
    ? '/'
    : NEEDS_DOT.test(kept[0] ?? '') && path.startsWith('./')
      ? './'
      : '';
  if (kept.length === 0) return start || '.';
  const isDirectory = path.endsWith('/') || path.endsWith('/.');
  return `${start}${kept.join('/')}${isDirectory ? '/' : ''}`;
}
