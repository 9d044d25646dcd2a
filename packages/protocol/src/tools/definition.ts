import { z } from 'zod';
import { errorCodeSchema } from '../errors.ts';
import type { Preview } from '../preview.ts';
import type { RiskLevel } from '../risk.ts';
import { visibleLine } from '../visible-text.ts';

const toolCategories = ['filesystem', 'command', 'shell', 'git', 'lsp', 'custom'] as const;
export const toolCategorySchema = z.enum(toolCategories);
type ToolCategory = z.infer<typeof toolCategorySchema>;

/** The category of a custom tool: `custom` or a new word. The category of a built-in tool would make it look built in. */
export const customCategorySchema = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'not a word of small letters, digits, _ and -, at most 32')
  .refine((word) => word === 'custom' || !toolCategorySchema.safeParse(word).success, {
    error: 'the category of built-in tools',
  });

/** One built-in tool (TL-1). Everything else that describes the tool is derived from this. */
export interface ToolDefinition {
  readonly name: string;
  readonly category: ToolCategory;
  /** What the tool does, in one or two sentences for the model and for people. */
  readonly description: string;
  readonly parameters: z.ZodObject;
  /** The result of a success. Every failure has the shape of `toolFailureSchema`. */
  readonly result: z.ZodObject;
  /**
   * The risk without regard to the arguments; RiskAssessor decides for each call. LOW: the person is only asked about
   * special files (PATH-5, PATH-6).
   */
  readonly baseRisk: RiskLevel;
  /** The runner makes such calls itself. They are not offered to agents. */
  readonly madeBy?: 'runner';
  /** Some calls are LOW although the base risk is higher. */
  readonly mayRunUnasked?: true;
  /** The tool kind of the Agent Client Protocol. Grants treat edits and deletions as classes of calls (AP-4). */
  readonly kind: 'read' | 'search' | 'edit' | 'delete' | 'move' | 'execute';
  /**
   * What the tool changes. `nothing`: it is read-only, needs no claim and no journal, and may be repeated. `files`: files
   * or directories of the workspace, with undo copies (RN-3). `repository`: the local git repository. `remote`: another
   * repository. `job`: a background job. `anything`: its command line decides.
   */
  readonly changes: 'nothing' | 'files' | 'repository' | 'remote' | 'job' | 'anything';
  /** The tool reads more files than its parameters name: everything below a folder, or any file of the project. */
  readonly readsBeyond?: 'folders' | 'project';
  /** The parameters contain the new text of a file: all of it (`content`), or a part (`old`, `new`). */
  readonly holdsText?: 'whole' | 'part';
  /** Programs that the tool replaces: a model that tries to run such a program is told to use this tool. */
  readonly insteadOf?: string;
  /** The end of the card's sentence "AGENT wants to …" (AP-1); `use NAME` by default. */
  readonly wants?: (params: CallParams) => string;
  /** Ways to use the tool that have their own sentence. The first that applies is taken. */
  readonly uses?: readonly ToolUse[];
}

/** Parameters of a call, validated or not. */
export type CallParams = Readonly<Record<string, unknown>>;

interface ToolUse {
  /** The id by which front ends translate the sentence. */
  readonly intent: string;
  readonly wants: (params: CallParams) => string;
  readonly applies: (params: CallParams, preview: Preview | null) => boolean;
}

/** Checks the shape of a row and keeps its precise types. */
export const defineToolRow = <const T extends ToolDefinition>(tool: T): T => tool;

/** Parameters for a sentence: on one line, with hidden characters made visible, cut at 160 characters. */
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

/** The files that a program changed. Both fields are left out if it changed none. */
export const changesOfCommand = {
  changed_files: changedFiles.optional(),
  changed_files_incomplete: z
    .string()
    .optional()
    .describe('Why changed_files may lack some of what the command changed.'),
};

const leftPaths = z.array(z.strictObject({ path: z.string().describe('Relative to the workspace root.') }));

/** What a command wrote and what did not land in the workspace (RN-12). A field is left out if it would be empty. */
export const leftOfCommand = {
  withheld: leftPaths
    .optional()
    .describe('Changed by the command in places that execute later. They did not land, and are kept aside.'),
  conflicts: leftPaths
    .optional()
    .describe(
      'Changed by the command and by somebody else meanwhile. They did not land, and are kept aside.',
    ),
};

/** Every failure of a tool (TL-2). A failed program may have changed files too. */
export const toolFailureSchema = z.strictObject({
  success: z.literal(false),
  error: z.string().describe('What happened and what to do next.'),
  code: errorCodeSchema,
  ...changesOfCommand,
});

/** A path parameter. Parsing shortens it, on server and runner alike, so records, cards, digests and tools agree. */
export const pathParameter = (what: string) =>
  z.string().min(1).overwrite(shortPath).describe(`${what}, relative to the workspace root.`);

/** First components that need `./` before them: otherwise they are an option, git's pathspec magic, a home or a drive. */
const NEEDS_DOT = /^(?:[-:~]|[A-Za-z]:)/;

/**
 * A path without its empty and `.` components: `.//a/./b` → `a/b`. A slash at the end stays, because it means a
 * directory. `..` stays, because after a link it does not lead to the directory that the text suggests.
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
