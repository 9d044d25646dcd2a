import { z } from 'zod';
import { changedFiles, changesOfCommand, defineToolRow, pathParameter, shown } from './definition.ts';

const states = [
  'added',
  'modified',
  'deleted',
  'renamed',
  'copied',
  'untracked',
  'ignored',
  'conflicted',
  'type_changed',
] as const;

const commitSchema = z.strictObject({
  id: z.string(),
  author: z.string(),
  email: z.string(),
  date: z.iso.datetime({ offset: true }),
  subject: z.string(),
  body: z.string().optional(),
});

const gitFileSchema = z.strictObject({
  path: z.string(),
  old_path: z.string().optional().describe('Where a renamed or copied file came from.'),
  staged: z.enum(states).nullable(),
  unstaged: z.enum(states).nullable(),
});

const hunkSchema = z.strictObject({
  old_start: z.int(),
  old_lines: z.int(),
  new_start: z.int(),
  new_lines: z.int(),
  header: z.string(),
  lines: z.array(z.string()).describe('Each with its leading blank, + or -.'),
});

const fileCount = (files: unknown): string => {
  const count = Array.isArray(files) ? files.length : 0;
  return count === 1 ? '1 file' : `${count} files`;
};

export const gitTools = [
  defineToolRow({
    name: 'git_status',
    category: 'git',
    description: 'The state of the working tree: branch, staged, changed and untracked files.',
    parameters: z.strictObject({ path: pathParameter('A file or directory to limit it to').optional() }),
    result: z.strictObject({
      success: z.literal(true),
      branch: z.string().nullable().describe('Null on a detached head.'),
      head: z.string().nullable().describe('Null before the first commit.'),
      upstream: z.string().nullable(),
      ahead: z.int(),
      behind: z.int(),
      files: z.array(gitFileSchema),
      truncated: z.boolean(),
    }),
    baseRisk: 'LOW',
    kind: 'read',
    changes: 'nothing',
    readsBeyond: 'folders',
  }),
  defineToolRow({
    name: 'git_diff',
    category: 'git',
    description: 'What changed since the last commit, or what is staged for the next one.',
    parameters: z.strictObject({
      path: pathParameter('A file or directory to limit it to').optional(),
      staged: z.boolean().default(false),
    }),
    result: z.strictObject({
      success: z.literal(true),
      files: z.array(
        z.strictObject({
          path: z.string(),
          old_path: z.string().optional(),
          state: z.enum(states),
          binary: z.boolean(),
          hunks: z.array(hunkSchema),
        }),
      ),
      truncated: z.boolean(),
    }),
    baseRisk: 'LOW',
    kind: 'read',
    changes: 'nothing',
    readsBeyond: 'folders',
  }),
  defineToolRow({
    name: 'git_log',
    category: 'git',
    description: 'The latest commits, newest first.',
    parameters: z.strictObject({
      path: pathParameter('A file or directory to limit it to').optional(),
      limit: z.int().min(1).max(1000).default(20),
    }),
    result: z.strictObject({
      success: z.literal(true),
      commits: z.array(commitSchema),
      truncated: z.boolean(),
    }),
    baseRisk: 'LOW',
    kind: 'read',
    changes: 'nothing',
    readsBeyond: 'folders',
  }),
  defineToolRow({
    name: 'git_commit',
    category: 'git',
    description: 'Commit the named files with a message. Nothing else is committed.',
    parameters: z.strictObject({
      message: z.string().min(1),
      files: z.array(pathParameter('A file')).min(1).describe('The files to commit.'),
    }),
    result: z.strictObject({
      success: z.literal(true),
      commit: commitSchema,
      ...changesOfCommand,
      changed_files: changedFiles.describe('Those of the commit, and what its hooks changed.'),
    }),
    baseRisk: 'MEDIUM',
    kind: 'execute',
    changes: 'repository',
    wants: ({ files, message }) => `commit ${fileCount(files)}: ${shown(message)}`,
  }),
  defineToolRow({
    name: 'git_branch',
    category: 'git',
    description: 'List branches, or create one from the current commit.',
    parameters: z
      .strictObject({
        name: z
          .string()
          .min(1)
          .max(255)
          .optional()
          .describe('Only this branch; with create, the one to make.'),
        create: z.boolean().default(false),
      })
      .refine(({ name, create }) => !create || name !== undefined, {
        error: 'create needs the name of the branch',
      }),
    result: z.strictObject({
      success: z.literal(true),
      current: z.string().nullable(),
      branches: z.array(
        z.strictObject({ name: z.string(), commit: z.string(), upstream: z.string().nullable() }),
      ),
    }),
    baseRisk: 'MEDIUM',
    mayRunUnasked: true,
    kind: 'execute',
    changes: 'repository',
    wants: ({ name }) => `create the branch ${shown(name)}`,
  }),
  defineToolRow({
    name: 'git_push',
    category: 'git',
    description: 'Push a branch to a remote, never by force.',
    parameters: z.strictObject({
      remote: z.string().min(1).max(255).default('origin').describe('The name of a configured remote.'),
      branch: z.string().min(1).max(255).optional().describe('The current branch when left out.'),
    }),
    result: z.strictObject({
      success: z.literal(true),
      remote: z.string(),
      branch: z.string(),
      from: z.string().nullable(),
      to: z.string(),
      ...changesOfCommand,
    }),
    baseRisk: 'HIGH',
    kind: 'execute',
    changes: 'remote',
    wants: ({ remote }) => `push to ${shown(remote) || 'origin'}`,
  }),
] as const;
