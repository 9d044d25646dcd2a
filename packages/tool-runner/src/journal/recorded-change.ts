import type { FileChange, FileVersion } from '../files/file-snapshot.ts';
import type { Row } from './journal-database.ts';

/** A change of one entry that a call is about to make, with what landing and undo need. */
export interface PlannedChange {
  readonly path: string;
  readonly operation: FileChange['operation'];
  readonly before: FileVersion;
  readonly after: FileVersion;
  /** Before the change; undefined if there was no entry or it is a link. */
  readonly mode: number | undefined;
  /** Undefined if the mode after the change was not recorded: then any mode counts as unchanged. */
  readonly modeAfter: number | undefined;
  /** True if the same entry stays and only gets other permissions. */
  readonly isModeOnly: boolean;
  /** Nanoseconds since 1970; undefined if not recorded. */
  readonly mtimeNs: bigint | undefined;
  readonly mtimeNsAfter: bigint | undefined;
  /** Of the entry before. If it is the same, the content need not be compared. */
  readonly identity: string | undefined;
  /** Name of the undo copy of the content before; undefined if there was no file or its copy did not fit. */
  readonly copy: string | undefined;
  /** What the undo copy takes on the disk. */
  readonly copyBytes: number;
  /** Name of the undo copy with the content after; undefined if the content comes from a layer or a call. */
  readonly source: string | undefined;
}

/** A recorded change of an entry. */
export interface RecordedChange extends PlannedChange {
  readonly toolId: string;
  readonly attempt: number;
  readonly position: number;
  readonly isUndone: boolean;
  /** Increases with each recorded change of any call. */
  readonly order: number;
}

/** The columns that were added to the table `changes` after its first version. */
export const addedColumns = {
  mode_after: 'integer',
  mode_only: 'integer',
  mtime: 'text',
  mtime_after: 'text',
  identity: 'text',
  copy_bytes: 'integer',
  source: 'text',
} as const;

export const insertChange = `insert into changes
  (tool_id, attempt, position, path, operation, before, after, mode, mode_after, mode_only, mtime, mtime_after, identity, copy,
   copy_bytes, source, recorded_at)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export const columnsOf = (change: PlannedChange) => [
  textOf(change.path),
  change.operation,
  textOf(change.before),
  textOf(change.after),
  change.mode ?? null,
  change.modeAfter ?? null,
  Number(change.isModeOnly),
  change.mtimeNs?.toString() ?? null,
  change.mtimeNsAfter?.toString() ?? null,
  change.identity ?? null,
  change.copy ?? null,
  change.copyBytes,
  change.source ?? null,
];

export const changeFrom = (row: Row): RecordedChange => ({
  toolId: row.tool_id as string,
  attempt: row.attempt as number,
  position: row.position as number,
  path: fromText(row.path) as string,
  operation: row.operation as FileChange['operation'],
  before: fromText(row.before),
  after: fromText(row.after),
  mode: numberFrom(row.mode),
  modeAfter: numberFrom(row.mode_after),
  isModeOnly: row.mode_only === 1,
  mtimeNs: timeFrom(row.mtime),
  mtimeNsAfter: timeFrom(row.mtime_after),
  identity: (row.identity as string | null) ?? undefined,
  copy: (row.copy as string | null) ?? undefined,
  copyBytes: numberFrom(row.copy_bytes) ?? 0,
  source: (row.source as string | null) ?? undefined,
  isUndone: row.undone_at !== null,
  order: row.order_id as number,
});

const numberFrom = (value: unknown): number | undefined => (value as number | null) ?? undefined;
const timeFrom = (value: unknown): bigint | undefined =>
  value === null ? undefined : BigInt(value as string);

/**
 * A path or version for a text column. SQLite keeps only well-formed text, and a decoded file name may have lone
 * surrogates (`nameFromDisk`): such a text is kept as JSON after a slash, with which no path or version begins.
 */
export const textOf = <T extends string | null>(text: T): T =>
  (text === null || text.isWellFormed() ? text : `/${JSON.stringify(text)}`) as T;

const fromText = (text: unknown): string | null =>
  typeof text === 'string' && text.startsWith('/"')
    ? (JSON.parse(text.slice(1)) as string)
    : (text as string | null);
