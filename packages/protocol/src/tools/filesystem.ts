import { z } from 'zod';
import { changedFiles, defineToolRow, pathParameter, shown } from './definition.ts';

/** Encodings of text files (TL-4). PDF files and images are returned as base64 instead. */
const textEncodings = ['utf-8', 'utf-16le', 'utf-16be', 'latin1'] as const;

const entrySchema = z.strictObject({
  name: z.string(),
  path: z.string(),
  type: z.enum(['file', 'directory', 'link', 'other']),
  size: z.int().nonnegative(),
  modified: z.iso.datetime().describe('ISO 8601, UTC.'),
});

const listing = {
  success: z.literal(true),
  total_count: z.int().nonnegative().describe('How many entries are in files.'),
  truncated: z.boolean().describe('True when there are more than could be returned.'),
};

const written = z.strictObject({
  success: z.literal(true),
  path: z.string(),
  size: z.int().nonnegative().describe('Size of the file in bytes after the change.'),
  changed_files: changedFiles,
});

export const filesystemTools = [
  defineToolRow({
    name: 'read_file',
    category: 'filesystem',
    description:
      'Read a file of the workspace, at most 1 MiB at a time: text whole or a range of lines; PDF files and images as base64. Read what is longer, also a single long line, in parts of bytes by offset and length. Other binary files are refused.',
    parameters: z
      .strictObject({
        path: pathParameter('The file'),
        start_line: z.int().min(1).optional().describe('First line to return, counted from 1.'),
        end_line: z.int().min(1).optional().describe('Last line to return, included.'),
        offset: z
          .int()
          .nonnegative()
          .optional()
          .describe('First byte to return, counted from 0. Not together with lines.'),
        length: z
          .int()
          .min(1)
          .optional()
          .describe('How many bytes to return, at most 1 MiB; to the end of the file when missing.'),
        encoding: z.enum(textEncodings).optional().describe('Only when it cannot be told from the file.'),
      })
      .refine(
        ({ start_line, end_line, offset, length }) =>
          (start_line ?? end_line) === undefined || (offset ?? length) === undefined,
        { error: 'give lines (start_line, end_line) or bytes (offset, length), not both' },
      )
      .refine(({ start_line = 1, end_line }) => end_line === undefined || end_line >= start_line, {
        error: 'end_line comes before start_line',
      }),
    result: z.strictObject({
      success: z.literal(true),
      content: z.string(),
      encoding: z.enum([...textEncodings, 'base64']),
      size: z.int().nonnegative().describe('Size of the whole file in bytes.'),
      truncated: z.boolean().describe('True when content is not all that was asked for (1 MiB at a time).'),
      media_type: z.string().optional().describe('For PDF and images.'),
      start_line: z.int().optional(),
      end_line: z.int().optional(),
      offset: z
        .int()
        .optional()
        .describe(
          'Where content begins in the file, when bytes were asked for. Text begins and ends with a whole character, so this can be up to 3 less than what was asked for.',
        ),
      next_offset: z
        .int()
        .optional()
        .describe('The offset to ask for next; missing when content ends where the file ends.'),
    }),
    baseRisk: 'LOW',
    kind: 'read',
    changes: 'nothing',
    insteadOf: 'less more bat view nl tac strings xxd od hexdump',
    wants: ({ path }) => `read ${shown(path)}`,
  }),
  defineToolRow({
    name: 'write_file',
    category: 'filesystem',
    description: 'Create a file, replace its content, or append to it. Missing directories are created.',
    parameters: z.strictObject({
      path: pathParameter('The file'),
      content: z.string(),
      mode: z
        .enum(['write', 'append'])
        .default('write')
        .describe('write replaces the content, append adds to its end.'),
    }),
    result: written,
    baseRisk: 'MEDIUM',
    kind: 'edit',
    changes: 'files',
    insteadOf: 'touch tee truncate dd',
    holdsText: 'whole',
    wants: ({ path }) => `change ${shown(path)}`,
    // Until there is a preview, the server does not know whether the file exists: the card says "change".
    uses: [
      {
        intent: 'create_file',
        wants: ({ path }) => `create ${shown(path)}`,
        applies: (_, preview) => preview?.kind === 'diff' && preview.files[0]?.operation === 'created',
      },
      {
        intent: 'append_file',
        wants: ({ path }) => `add to ${shown(path)}`,
        applies: ({ mode }) => mode === 'append',
      },
    ],
  }),
  defineToolRow({
    name: 'edit_file',
    category: 'filesystem',
    description:
      'Replace an exact piece of text in a file. It must occur exactly once, unless replace_all is set; read the file first.',
    parameters: z.strictObject({
      path: pathParameter('The file'),
      old: z.string().min(1).describe('The text to replace, exactly as it stands in the file.'),
      new: z.string().describe('What to put in its place.'),
      replace_all: z.boolean().default(false).describe('Replace every occurrence.'),
    }),
    result: written,
    baseRisk: 'MEDIUM',
    kind: 'edit',
    changes: 'files',
    insteadOf: 'sed awk gawk perl patch ed ex',
    holdsText: 'part',
    wants: ({ path }) => `change ${shown(path)}`,
  }),
  defineToolRow({
    name: 'search_files',
    category: 'filesystem',
    description:
      'Find files by name (glob) or by what is inside them (regular expression), or both. Files ignored by git and sensitive files are left out.',
    parameters: z
      .strictObject({
        pattern: z.string().min(1).optional().describe('Glob on names, such as *.ts or src/**/*.test.ts.'),
        path: pathParameter('The directory to search').optional(),
        content: z.string().min(1).optional().describe('Regular expression to look for inside files.'),
      })
      // Model providers refuse `anyOf` at the top of a schema, so this check cannot be part of the JSON Schema.
      .refine((value) => value.pattern !== undefined || value.content !== undefined, {
        error: 'give pattern, content or both',
      }),
    result: z.strictObject({
      ...listing,
      files: z.array(
        entrySchema.extend({
          matches: z.array(z.strictObject({ line: z.int().min(1), text: z.string() })).optional(),
        }),
      ),
    }),
    baseRisk: 'LOW',
    kind: 'search',
    changes: 'nothing',
    insteadOf: 'rg ag ack fgrep egrep zgrep fd fdfind',
    readsBeyond: 'folders',
  }),
  defineToolRow({
    name: 'delete_file',
    category: 'filesystem',
    description: 'Delete one file. Directories are not deleted.',
    parameters: z.strictObject({ path: pathParameter('The file') }),
    result: z.strictObject({ success: z.literal(true), path: z.string(), changed_files: changedFiles }),
    baseRisk: 'HIGH',
    kind: 'delete',
    changes: 'files',
    insteadOf: 'rm rmdir unlink shred trash',
    wants: ({ path }) => `delete ${shown(path)}`,
  }),
  defineToolRow({
    name: 'list_directory',
    category: 'filesystem',
    description: 'List a directory. Dot-files are shown only when the pattern asks for them, such as .*',
    parameters: z.strictObject({
      path: pathParameter('The directory'),
      recursive: z.boolean().default(false),
      pattern: z.string().min(1).default('*').describe('Glob on names.'),
    }),
    result: z.strictObject({ ...listing, files: z.array(entrySchema) }),
    baseRisk: 'LOW',
    kind: 'search',
    changes: 'nothing',
    insteadOf: 'tree dir exa eza lsd',
    readsBeyond: 'folders',
    wants: ({ path }) => `list ${shown(path)}`,
  }),
  defineToolRow({
    name: 'create_directory',
    category: 'filesystem',
    description: 'Create a directory, and its parents where they are missing.',
    parameters: z.strictObject({ path: pathParameter('The directory') }),
    result: z.strictObject({ success: z.literal(true), path: z.string(), changed_files: changedFiles }),
    baseRisk: 'MEDIUM',
    kind: 'edit',
    changes: 'files',
    insteadOf: 'mkdir',
    wants: ({ path }) => `create the directory ${shown(path)}`,
  }),
  defineToolRow({
    name: 'copy_file',
    category: 'filesystem',
    description: 'Copy one file to another place in the workspace.',
    parameters: z.strictObject({
      source: pathParameter('The file to copy'),
      dest: pathParameter('The new file'),
    }),
    result: written,
    baseRisk: 'MEDIUM',
    kind: 'edit',
    changes: 'files',
    insteadOf: 'cp install rsync',
    wants: ({ source, dest }) => `copy ${shown(source)} to ${shown(dest)}`,
  }),
  defineToolRow({
    name: 'move_file',
    category: 'filesystem',
    description: 'Move or rename one file in the workspace. Directories are not moved.',
    parameters: z.strictObject({
      source: pathParameter('The file to move'),
      dest: pathParameter('Where it will be'),
    }),
    result: written,
    baseRisk: 'HIGH',
    kind: 'move',
    changes: 'files',
    insteadOf: 'mv rename',
    wants: ({ source, dest }) => `move ${shown(source)} to ${shown(dest)}`,
  }),
] as const;
