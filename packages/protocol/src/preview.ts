import { z } from 'zod';
import { fileOperations } from './tools/definition.ts';

/** One file that would change, as a unified diff. */
export const fileDiffSchema = z.strictObject({
  path: z.string(),
  operation: z.enum(fileOperations),
  /** Unified diff; hidden characters are made visible. Empty when the content stays the same. */
  diff: z.string(),
  /** True when the diff was cut for size; the full one is fetched by approval id. */
  truncated: z.boolean(),
  size_before: z.int().nonnegative().nullable(),
  size_after: z.int().nonnegative().nullable(),
  /** The bytes come from an editor's unsaved buffer instead of the disk (RN-9). */
  unsaved: z.boolean().optional(),
});

const commitLine = z.strictObject({ id: z.string(), subject: z.string(), author: z.string() });

/** What will happen, computed by the runner where the files are (AP-7). */
export const previewSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('diff'), files: z.array(fileDiffSchema) }),
  z.strictObject({
    kind: z.literal('delete'),
    path: z.string(),
    size: z.int().nonnegative(),
    head: z.string().describe('The first lines of the file that would be deleted.'),
  }),
  z.strictObject({ kind: z.literal('directory'), path: z.string() }),
  z.strictObject({
    kind: z.literal('command'),
    /** Each program that would run, word by word; null is a word only known at run time. */
    commands: z.array(z.array(z.string().nullable())),
    cwd: z.string(),
    network: z.boolean(),
    reversible: z.boolean().describe('False: it cannot be undone.'),
    scripts: z.array(z.string()).describe('Files of the workspace that would be executed.'),
  }),
  z.strictObject({
    kind: z.literal('commit'),
    message: z.string(),
    files: z.array(fileDiffSchema),
    hooks: z.array(z.string()).describe('Hooks that git would run.'),
  }),
  z.strictObject({
    kind: z.literal('push'),
    remote: z.string(),
    url: z.string(),
    branch: z.string(),
    commits: z.array(commitLine),
    hooks: z.array(z.string()),
  }),
  z.strictObject({ kind: z.literal('custom'), server: z.string(), summary: z.string() }),
  z.strictObject({ kind: z.literal('unavailable'), reason: z.string() }),
]);
export type Preview = z.infer<typeof previewSchema>;
