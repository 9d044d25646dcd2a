import type { ToolSuccess } from '@countersign/protocol';
import type { ToolModule } from '../tool-module.ts';
import { utf8 } from './config-text.ts';
import { limitTo, lookAtRead } from './git-tools.ts';
import { pathText } from './quoted-path.ts';
import { mayBeListed } from './repository-layout.ts';

export const gitStatus: ToolModule<'git_status'> = {
  look: lookAtRead,
  async execute({ params }, { signal }, repository) {
    const git = await repository.open(signal);
    const args = ['--porcelain=v2', '-z', '--branch', '--untracked-files=all', '--ignore-submodules=dirty'];
    const { stdout, cut } = await git.ask(['status', ...args, '--', ...limitTo(repository, params)]);
    return parseStatus(stdout, { entries: repository.workspace.limits.entries, cut });
  },
};

type Status = ToolSuccess<'git_status'>;
type StatusFile = Status['files'][number];
type State = NonNullable<StatusFile['staged']>;

const states: Readonly<Record<string, State>> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
  T: 'type_changed',
  U: 'conflicted',
};

/** The state for git's letter; null for a dot. */
export const stateOf = (letter: string | undefined): State | null => states[letter ?? ''] ?? null;

/**
 * Reads `git status --porcelain=v2 -z --branch`; `cut` says that its end is missing. Sensitive files are left out; a
 * file that was renamed from one is reported as added.
 */
function parseStatus(output: Buffer, options: { entries: number; cut: boolean }): Status {
  const records = output.toString('latin1').split('\0');
  // The part after the last NUL is empty, or a record that was cut off.
  records.pop();
  const head: Record<string, string> = {};
  const files: StatusFile[] = [];
  let truncated = options.cut;
  for (let i = 0; i < records.length; i++) {
    const record = records[i] as string;
    if (record.startsWith('# branch.')) {
      const space = record.indexOf(' ', 2);
      head[record.slice('# branch.'.length, space)] = record.slice(space + 1);
      continue;
    }
    const source = record.startsWith('2 ') ? records[++i] : undefined;
    if (record.startsWith('2 ') && source === undefined) break;
    const file = parseFile(record, source);
    if (!file) continue;
    if (files.length >= options.entries) {
      truncated = true;
      break;
    }
    files.push(file);
  }
  const [ahead, behind] = (head.ab ?? '+0 -0').split(' ').map((count) => Math.abs(Number(count)));
  return {
    success: true,
    branch: head.head === undefined || head.head === '(detached)' ? null : utf8(head.head),
    head: head.oid === undefined || head.oid === '(initial)' ? null : head.oid,
    upstream: head.upstream === undefined ? null : utf8(head.upstream),
    ahead: ahead ?? 0,
    behind: behind ?? 0,
    files,
    truncated,
  };
}

/** How many fields, separated by blanks, come before the path. */
const fieldsBefore: Readonly<Record<string, number>> = { '1': 8, '2': 9, u: 10, '?': 1 };

function parseFile(record: string, source: string | undefined): StatusFile | undefined {
  const type = record[0] ?? '';
  const count = fieldsBefore[type];
  if (count === undefined) return undefined;
  const fields = record.split(' ');
  const path = Buffer.from(fields.slice(count).join(' '), 'latin1');
  if (!mayBeListed(path)) return undefined;
  const named = { path: pathText(path) };
  if (type === '?') return { ...named, staged: null, unstaged: 'untracked' };
  if (type === 'u') return { ...named, staged: 'conflicted', unstaged: 'conflicted' };
  const [x, y] = fields[1] ?? '';
  const file = { ...named, staged: stateOf(x), unstaged: stateOf(y) };
  if (source === undefined) return file;
  const from = Buffer.from(source, 'latin1');
  if (mayBeListed(from)) return { ...file, old_path: pathText(from) };
  const plain = (state: State | null) => (state === 'renamed' || state === 'copied' ? 'added' : state);
  return { ...named, staged: plain(file.staged), unstaged: plain(file.unstaged) };
}
