import { z } from 'zod';
import { fileOperations } from './tools/definition.ts';

/** One file that a call would change. */
export const fileDiffSchema = z.object({
  path: z.string(),
  operation: z.enum(fileOperations),
  diff: z
    .string()
    .describe('Unified; hidden characters are made visible. Empty when the content stays the same.'),
  truncated: z.boolean().describe('True when the diff was cut for size.'),
  size_before: z.int().nonnegative().nullable(),
  size_after: z.int().nonnegative().nullable(),
  unsaved: z.boolean().optional().describe("True when an editor's unsaved buffer is the base (RN-9)."),
});

/** One effect of a tried command. */
const trialEffectSchema = z.object({
  path: z.string().describe('Hidden characters are made visible.'),
  change: z.enum(['created', 'modified', 'deleted', 'mode']).describe('mode: only the permissions.'),
  size: z.int().nonnegative().optional().describe('Of a file, afterwards; of a deleted one, before.'),
  diff: z
    .string()
    .optional()
    .describe('Unified; hidden characters are made visible. Missing for folders, binary and large files.'),
  truncated: z.boolean().optional().describe('True when the diff was cut for size.'),
});

/** What a command did when it was tried: run in a layer under the confinement of LOW, before anybody approved it (RN-13). */
export const trialSchema = z.union([
  z.object({
    problem: z.string().describe('Why it could not be tried. Approving runs it as without a trial.'),
  }),
  z.object({
    ended: z
      .enum(['exit', 'signal', 'timeout', 'limit'])
      .describe(
        'Only what ended by itself (exit) has effects, and approving lands them without running again. Otherwise approving runs the command. limit: it wrote too much.',
      ),
    exit_code: z.int().nullable().describe('Null unless it ended by itself.'),
    duration_ms: z.int().nonnegative(),
    stdout: z.string().describe('The end of the output, hidden characters as they are.'),
    stderr: z.string(),
    files: z
      .array(trialEffectSchema)
      .describe('What approving would land, deletions first; at most 1,000. `counts` has all.'),
    counts: z.object({
      created: z.int().nonnegative(),
      modified: z.int().nonnegative(),
      deleted: z.int().nonnegative(),
      mode: z.int().nonnegative(),
    }),
    withheld: z
      .array(z.string())
      .describe('Paths that would execute later (VA-3): approving does not land them.'),
    left_out: z.array(z.string()).describe('Pipes, sockets and devices: they cannot land.'),
    hosts: z.array(z.string()).describe('Hosts that it asked for; a trial reaches none.'),
  }),
]);
export type Trial = z.infer<typeof trialSchema>;

const commitLineSchema = z.object({ id: z.string(), subject: z.string(), author: z.string() });

/** What a call will do, computed by the runner on the person's machine (AP-7). */
export const previewSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('diff'), files: z.array(fileDiffSchema) }),
  z.object({
    kind: z.literal('delete'),
    path: z.string(),
    size: z.int().nonnegative(),
    head: z.string().describe('The first lines of the file that would be deleted.'),
  }),
  z.object({ kind: z.literal('directory'), path: z.string() }),
  z.object({
    kind: z.literal('command'),
    commands: z
      .array(z.array(z.string().nullable()))
      .describe('Each program that would run, word by word; null is a word only known at run time.'),
    cwd: z.string(),
    network: z.boolean(),
    hosts: z
      .array(z.string())
      .optional()
      .describe('The hosts that the call may reach; with `network` and without this, any host.'),
    reversible: z.boolean().describe('False: it cannot be undone.'),
    scripts: z.array(z.string()).describe('Files of the workspace that would be executed.'),
    fetches: z
      .object({
        url: z.string().describe('The URL without its password.'),
        refs: z.array(z.string()).describe('What is asked of the remote: refs, or patterns of them.'),
      })
      .optional()
      .describe("Where the person's own git fetches from, with the person's login (RN-6)."),
    repositories: z
      .array(z.string())
      .optional()
      .describe('Repositories on this machine, outside the workspace, that its calls of git use as remotes.'),
    trial: trialSchema.optional().describe('Set once somebody asked to try the call first (RN-13).'),
  }),
  z.object({
    kind: z.literal('commit'),
    message: z.string(),
    files: z.array(fileDiffSchema),
    hooks: z.array(z.string()).describe('Hooks that git would run.'),
  }),
  z.object({
    kind: z.literal('push'),
    remote: z.string(),
    url: z.string().describe('The URL without its password.'),
    branch: z.string(),
    commits: z.array(commitLineSchema),
    hooks: z.array(z.string()),
  }),
  z.object({
    kind: z.literal('custom'),
    server: z.string(),
    summary: z.string().describe("The tool's own description."),
    tool: z.string().optional().describe("The tool's name on its server."),
    runs: z.string().optional().describe("The server's command line, or its address."),
    network: z.boolean().optional(),
    hints: z
      .array(z.enum(['read_only', 'destructive']))
      .optional()
      .describe('Claims of the tool itself, not verified.'),
  }),
  z.object({
    kind: z.literal('summary'),
    summary: z.string().describe('One sentence, for calls that change no file: a read, a new branch.'),
  }),
  z.object({ kind: z.literal('unavailable'), reason: z.string() }),
]);
export type Preview = z.infer<typeof previewSchema>;

/** Kinds of previews that show everything that will happen. */
const completeKinds: readonly string[] = ['diff', 'delete', 'directory', 'command', 'commit', 'push'];

/** Whether the card must also show the parameters (AP-7), because the preview alone does not say what will happen. */
export const mustShowParameters = ({ kind }: Preview): boolean => !completeKinds.includes(kind);
