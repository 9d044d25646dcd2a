import {
  type BuiltInToolCall,
  defaultLimits,
  describeError,
  type Limits,
  type NetworkAccess,
  type Reason,
  type RiskLevel,
  type ToolParams,
} from '@countersign/protocol';
import type { CallAssessment, CommandOperand, SimpleCommand } from './call-assessment.ts';
import { CommandValidator } from './command/command-validator.ts';
import { judgeGlob } from './command/sensitive-glob.ts';
import { fileKindOf, SNIFF_BYTES } from './file-kind.ts';
import { parseGlob } from './glob.ts';
import { LineAssessor } from './line/line-assessor.ts';
import { type CheckedPath, type Disk, PathValidator } from './path-validator.ts';
import { isBranchName, isRemoteName } from './ref-name.ts';
import { problemOfSearchPattern } from './search-pattern.ts';
import { SizeLimiter } from './size-limiter.ts';
import { shorten } from './text.ts';
import { allow, isRefused, type Refused, refuse, stricter, type Verdict } from './verdict.ts';
import { refuseBinary, writeRuleFor } from './write-rules.ts';

export interface RiskAssessorOptions {
  /** Absolute path of the workspace root. */
  readonly root: string;
  /** Left out on the server, which decides by the text alone. */
  readonly disk?: Disk | undefined;
  readonly limits?: Limits;
  /** The person's home directory, so that a shell line's `~` is understood. */
  readonly home?: string | undefined;
  /** From the person's own policy file (RK-5). */
  readonly liftedSensitivePaths?: ReadonlySet<string>;
  readonly addedPrograms?: ReadonlyMap<string, RiskLevel>;
}

/** A verdict alone stands for an assessment without operands and commands. */
type Assessed = CallAssessment | Verdict;

/**
 * Validates a call whose parameters have the right shape, and says how risky it is and why (RK-1 to RK-3). The
 * same code decides on the server, by text, and in the runner, with the real disk (VA-8).
 */
export class RiskAssessor {
  readonly paths: PathValidator;
  readonly #commands: CommandValidator;
  readonly #lines: LineAssessor;
  readonly #sizes: SizeLimiter;
  readonly #disk: Disk | undefined;

  constructor(options: RiskAssessorOptions) {
    const { root, disk, home, limits = defaultLimits, liftedSensitivePaths, addedPrograms } = options;
    this.#disk = disk;
    this.#sizes = new SizeLimiter(limits);
    this.paths = new PathValidator({ root, limits, disk, liftedSensitivePaths });
    this.#commands = new CommandValidator({ paths: this.paths, limits, addedPrograms, home });
    this.#lines = new LineAssessor({ paths: this.paths, limits, home, addedPrograms });
  }

  assess(call: BuiltInToolCall): CallAssessment {
    const found = this.#assess(call);
    return isVerdict(found) ? { verdict: found, operands: [], commands: [], needsPerson: false } : found;
  }

  /** Whether a command of a shell line would run unasked as a call of its own: it only reads inside the workspace. */
  onlyReads({ words: [program, ...args] }: SimpleCommand): boolean {
    const { verdict, needsPerson } = this.#commands.check(program, args);
    return verdict.decision === 'LOW' && !needsPerson;
  }

  #assess({ tool, params }: BuiltInToolCall): Assessed {
    switch (tool) {
      case 'read_file':
        return this.#read(params.path, 'only reads a file of the workspace');
      case 'diagnostics':
      case 'symbols':
      case 'hover':
      case 'definition':
      case 'references':
        return this.#read(params.path, 'only asks a language server about a file of the workspace');
      case 'list_directory':
        return this.#look(params.path, params.pattern, 'only lists a directory of the workspace');
      case 'search_files':
        return this.#search(params);
      case 'write_file':
        return this.#write(params);
      case 'edit_file':
        return this.#edit(params);
      case 'copy_file':
        return this.#copy(params);
      case 'move_file':
        return this.#move(params);
      case 'delete_file':
        return this.#delete(params.path);
      case 'create_directory':
        return this.#createDirectory(params.path);
      case 'execute_command':
        return this.#command(params);
      case 'reach_host':
        return reachHost(params.host);
      case 'shell_exec':
        return withNetwork(
          this.#limitTimeout(this.#lines.check(params.command, params.cwd), params.timeout),
          params.network,
        );
      case 'shell_background':
        return this.#lines.checkBackground(params.command, params.cwd);
      case 'shell_output':
      case 'shell_kill':
        return allow('LOW', [{ rule: 'SHELL-1', why: "concerns a background job of the session's own" }]);
      case 'git_status':
      case 'git_diff':
      case 'git_log':
        return this.#gitRead(params.path);
      case 'git_commit':
        return this.#gitCommit(params);
      case 'git_branch':
        return gitBranch(params);
      case 'git_push':
        return gitPush(params);
      default:
        // A missing case is a compile error that names the tool.
        return tool satisfies never;
    }
  }

  #read(path: string, why: string): Assessed {
    const file = this.#existingFile(path);
    if (isVerdict(file)) return file;
    const reason = { rule: 'READ-1', why, operand: path };
    return withOperands(stricter(allow('LOW', [reason]), cautions(path, file)), [file, 'read']);
  }

  #look(path: string, pattern: string | undefined, why: string): Assessed {
    const checked = this.paths.check(path);
    if (!checked.ok) return checked.refused;
    if (this.#disk && !checked.entry) return notFound(path);
    if (checked.entry && checked.entry.type !== 'directory') return simpleRefusal('NOT_A_DIRECTORY', path);
    const unusable = pattern === undefined ? undefined : refuseNamePattern(pattern);
    if (unusable) return unusable;
    return withOperands(allow('LOW', [{ rule: 'READ-2', why, operand: path }]), [checked, 'read']);
  }

  #search({ path = '.', pattern, content }: ToolParams<'search_files'>): Assessed {
    const problem = content === undefined ? undefined : problemOfSearchPattern(content);
    if (problem === undefined) return this.#look(path, pattern, 'only searches in the workspace');
    const why = `the regular expression cannot be used: ${problem}`;
    return refuse('PATTERN_INVALID', { pattern: shorten(content ?? ''), problem }, { rule: 'READ-3', why });
  }

  #write({ path, content, mode }: ToolParams<'write_file'>): Assessed {
    const target = this.#writable(path);
    if (isVerdict(target)) return target;
    const existing = mode === 'append' ? (target.entry?.size ?? 0) : 0;
    const tooLarge = this.#sizes.checkContent(path, content, existing);
    if (tooLarge) return tooLarge;
    return withOperands(writeRisk(path, target), [target, 'write']);
  }

  #edit({ path, new: content }: ToolParams<'edit_file'>): Assessed {
    const existing = this.#existingFile(path);
    return isVerdict(existing) ? existing : this.#write({ path, content, mode: 'write' });
  }

  #copy({ source, dest }: ToolParams<'copy_file'>): Assessed {
    const from = this.#existingFile(source, { anyKind: true });
    if (isVerdict(from)) return from;
    const to = this.#writable(dest);
    if (isVerdict(to)) return to;
    const caution = cautions(source, from);
    const assessment = withOperands(stricter(writeRisk(dest, to), caution), [from, 'read'], [to, 'write']);
    if (isVerdict(assessment) || caution.decision !== 'LOW') return assessment;
    const operands = assessment.operands.map((operand) =>
      operand.use === 'read' ? { ...operand, readsFreely: true as const } : operand,
    );
    return { ...assessment, operands };
  }

  #delete(path: string): Assessed {
    const file = this.#existingFile(path, { anyKind: true, anySize: true });
    if (isVerdict(file)) return file;
    const reason = { rule: 'DELETE-1', why: 'deletes a file', operand: path };
    return withOperands(stricter(allow('HIGH', [reason]), laterRisk(path, file)), [file, 'write']);
  }

  /** Moving is copying and deleting. Both files count as written, so a rule that allows it must match both. */
  #move(params: ToolParams<'move_file'>): Assessed {
    const copied = this.#copy(params);
    if (isVerdict(copied)) return copied;
    const deleted = this.#delete(params.source);
    if (isVerdict(deleted)) return deleted;
    return {
      verdict: stricter(copied.verdict, deleted.verdict),
      operands: [...deleted.operands, ...copied.operands.filter(({ use }) => use === 'write')],
      commands: [],
      needsPerson: copied.needsPerson || deleted.needsPerson,
    };
  }

  #createDirectory(path: string): Assessed {
    const checked = this.paths.check(path);
    if (!checked.ok) return checked.refused;
    if (checked.relative === '') return simpleRefusal('PATH_IS_ROOT', path);
    if (checked.entry && checked.entry.type !== 'directory') return simpleRefusal('FILE_EXISTS', path);
    const reason = { rule: 'DIR-1', why: 'creates a directory in the workspace', operand: path };
    return withOperands(stricter(allow('MEDIUM', [reason]), laterRisk(path, checked)), [checked, 'write']);
  }

  #command({ command, args, timeout, network }: ToolParams<'execute_command'>): CallAssessment {
    const commands = [{ words: [command, ...args] }];
    const assessment = { ...this.#commands.check(command, args), commands };
    return withNetwork(this.#limitTimeout(assessment, timeout), network);
  }

  #limitTimeout(assessment: CallAssessment, timeout: number): CallAssessment {
    const tooLong = this.#sizes.checkTimeout(timeout);
    return tooLong ? { ...assessment, verdict: stricter(assessment.verdict, tooLong) } : assessment;
  }

  #gitRead(path: string | undefined): Assessed {
    const checked = this.#gitPath(path ?? '.');
    if (isVerdict(checked)) return checked;
    const reason = { rule: 'GIT-1', why: 'only reads from the git repository' };
    return withOperands(allow('LOW', [reason]), [checked, 'read']);
  }

  #gitCommit({ files, message }: ToolParams<'git_commit'>): Assessed {
    const operands: [CheckedPath, 'read'][] = [];
    for (const file of files) {
      const checked = this.#gitPath(file);
      if (isVerdict(checked)) return checked;
      operands.push([checked, 'read']);
    }
    if (message.includes('\u0000'))
      return invalidParams('git_commit', 'the message contains a NUL character');
    const reason = { rule: 'GIT-2', why: 'makes a commit', operand: files.join(' ') };
    return withOperands(allow('MEDIUM', [reason]), ...operands);
  }

  /** Checks a path for git. Refuses spellings that git would read as patterns, pathspec magic or options. */
  #gitPath(path: string): CheckedPath | Refused {
    if (/^[:-]|[*?]/.test(path)) {
      const problem = 'git would read it as a pattern or an option; name plain files';
      return refuse('PATH_INVALID', { path, problem }, { rule: 'GIT-6', why: problem, operand: path });
    }
    const checked = this.paths.check(path);
    return checked.ok ? checked : checked.refused;
  }

  /** Checks the path of a file that must exist, if there is a disk. */
  #existingFile(path: string, may: { anyKind?: boolean; anySize?: boolean } = {}): CheckedPath | Refused {
    const checked = this.paths.check(path);
    if (!checked.ok) return checked.refused;
    if (checked.relative === '') return simpleRefusal('PATH_IS_ROOT', path);
    if (checked.entry?.type === 'directory') return simpleRefusal('IS_A_DIRECTORY', path);
    if (!this.#disk) return checked;
    if (!checked.entry) return notFound(path);
    const tooLarge = may.anySize ? undefined : this.#sizes.checkFile(path, checked.entry.size);
    if (tooLarge) return tooLarge;
    if (may.anyKind) return checked;
    const head = this.#disk.readHead(`${this.paths.root}/${checked.relative}`, SNIFF_BYTES);
    return head && fileKindOf(head).kind === 'binary' ? simpleRefusal('BINARY_FILE', path) : checked;
  }

  /** Checks the path of a file that is written. */
  #writable(path: string): CheckedPath | Refused {
    const checked = this.paths.check(path);
    if (!checked.ok) return checked.refused;
    if (checked.relative === '') return simpleRefusal('PATH_IS_ROOT', path);
    if (path.endsWith('/') || checked.entry?.type === 'directory')
      return simpleRefusal('IS_A_DIRECTORY', path);
    return refuseBinary(checked.named, path) ?? refuseBinary(checked.relative, path) ?? checked;
  }
}

/** A call that names its network is always asked about: no grant and no rule says which hosts it covers. */
function withNetwork(assessment: CallAssessment, network: NetworkAccess | undefined): CallAssessment {
  if (network === undefined || network === false || isRefused(assessment.verdict)) return assessment;
  const asked =
    network === true
      ? allow('HIGH', [{ rule: 'NET-2', why: 'asks for network access to any host' }], true)
      : allow(
          'MEDIUM',
          [{ rule: 'NET-1', why: 'asks for network access', operand: network.join(', ') }],
          true,
        );
  return { ...assessment, verdict: stricter(assessment.verdict, asked), needsPerson: true };
}

/** The rule on a host that a running command asks for. Grants and rules name hosts as the command `reach HOST`. */
export const REACHES_HOST = 'NET-3';

const reachHost = (host: string): CallAssessment => ({
  verdict: allow('MEDIUM', [
    {
      rule: REACHES_HOST,
      why: 'a running command wants to reach a host that its card did not name',
      operand: host,
    },
  ]),
  operands: [],
  commands: [{ words: ['reach', host] }],
  needsPerson: false,
});

/** Refuses a glob on names that is malformed, leads outside the folder, or selects sensitive files (VA-2). */
function refuseNamePattern(pattern: string): Refused | undefined {
  const glob = parseGlob(pattern);
  const leadsOut = pattern.startsWith('/') || pattern.split('/').includes('..');
  const problem = glob.ok ? (leadsOut ? 'it leads outside the folder' : undefined) : glob.problem;
  const shown = shorten(pattern);
  if (problem !== undefined) {
    const why = `the pattern cannot be used: ${problem}`;
    return refuse('PATTERN_INVALID', { pattern: shown, problem }, { rule: 'READ-3', why, operand: shown });
  }
  if (judgeGlob(pattern) !== 'sensitive') return undefined;
  const reason = { rule: 'READ-4', why: 'the pattern picks sensitive files', operand: shown };
  return refuse('PATH_SENSITIVE', { path: shown, kind: 'a pattern that picks such files' }, reason);
}

/** The risk of writing a file: by its extension, as named and with links resolved, and by the place it is in. */
function writeRisk(path: string, target: CheckedPath): Verdict {
  const names = target.named === target.relative ? [target.named] : [target.named, target.relative];
  const byExtension = names.map((name): Verdict => {
    const rule = writeRuleFor(name);
    const level = rule.effect === 'REJECT' ? 'HIGH' : rule.effect; // #writable has refused it already
    return allow(level, [{ rule: rule.id, why: rule.why, operand: path }]);
  });
  const verdict = byExtension.reduce(stricter);
  return stricter(stricter(verdict, laterRisk(path, target)), cautions(path, target));
}

/** VA-3: changing a place whose content is executed later is HIGH. */
function laterRisk(path: string, target: CheckedPath): Verdict {
  const place = target.executesLater;
  if (!place) return allow('LOW');
  return allow('HIGH', [{ rule: place.id, why: `changes a ${place.kind}`, operand: path }]);
}

/** The rule on a file with several names (hard links). */
const SEVERAL_NAMES = 'PATH-5';

/** Whether a call uses a file that may also be a file outside the workspace. Only an assessment on a disk knows. */
export const mayBeOutside = (reasons: readonly Reason[]): boolean =>
  reasons.some(({ rule }) => rule === SEVERAL_NAMES);

/** Risks of the file itself, whatever the call does with it. */
function cautions(path: string, file: CheckedPath): Verdict {
  let verdict: Verdict = allow('LOW');
  if (file.entry?.type === 'file' && file.entry.hardLinks > 1) {
    const why = 'has several names (hard links), so it may also be a file outside the workspace';
    verdict = stricter(verdict, allow('MEDIUM', [{ rule: SEVERAL_NAMES, why, operand: path }]));
  }
  if (file.liftedSensitive) {
    const why = `is a sensitive file (${file.liftedSensitive.kind}) that your own policy makes available`;
    verdict = stricter(verdict, allow('HIGH', [{ rule: 'PATH-6', why, operand: path }]));
  }
  return verdict;
}

function gitBranch({ name, create }: ToolParams<'git_branch'>): Verdict {
  if (name !== undefined && !isBranchName(name)) {
    return invalidParams('git_branch', `"${shorten(name)}" is not a branch name`);
  }
  if (!create) return allow('LOW', [{ rule: 'GIT-3', why: 'only lists branches' }]);
  if (name === undefined) return invalidParams('git_branch', 'name: to create a branch, name it');
  return allow('MEDIUM', [{ rule: 'GIT-4', why: 'creates a branch', operand: name }]);
}

function gitPush({ remote, branch }: ToolParams<'git_push'>): Verdict {
  if (!isRemoteName(remote)) {
    return invalidParams('git_push', `"${shorten(remote)}" is not the name of a configured remote`);
  }
  if (branch !== undefined && !isBranchName(branch)) {
    return invalidParams('git_push', `"${shorten(branch)}" is not a branch name`);
  }
  const reason: Reason = {
    rule: 'GIT-5',
    why: 'publishes commits to another machine, which cannot be undone from here',
    operand: remote,
  };
  return allow('HIGH', [reason], true);
}

const isVerdict = (value: object): value is Verdict => 'decision' in value;

function withOperands(verdict: Verdict, ...files: [CheckedPath, CommandOperand['use']][]): Assessed {
  if (isRefused(verdict)) return verdict;
  return {
    verdict,
    operands: files.map(([file, use]) => ({ path: file.relative, use })),
    commands: [],
    needsPerson: files.some(
      ([file, use]) =>
        (use === 'write' && file.executesLater !== undefined) || file.liftedSensitive !== undefined,
    ),
  };
}

function notFound(path: string): Refused {
  return refuse(
    'FILE_NOT_FOUND',
    { path: shorten(path) },
    { rule: 'PATH-7', why: 'there is nothing there', operand: path },
  );
}

function simpleRefusal(
  code: 'PATH_IS_ROOT' | 'IS_A_DIRECTORY' | 'NOT_A_DIRECTORY' | 'FILE_EXISTS' | 'BINARY_FILE',
  path: string,
): Refused {
  const { message } = describeError(code, { path: shorten(path) });
  return refuse(code, { path: shorten(path) }, { rule: 'PATH-8', why: message, operand: path });
}

function invalidParams(tool: string, problem: string): Refused {
  return refuse('INVALID_PARAMS', { tool, problem }, { rule: 'PARAM-1', why: problem });
}
