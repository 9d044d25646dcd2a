import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { type SetupStep, securityFolder } from './security-cases.ts';

interface Fixture {
  readonly files: Readonly<Record<string, string>>;
  readonly archives: Readonly<Record<string, readonly string[]>>;
}

/** A real folder with the fixture of `security/`, and an empty sibling folder `outside`. */
export interface TemporaryWorkspace {
  /** The root as it is opened; after `workspace_via_symlink` this is a link. */
  root: string;
  readonly outside: string;
  /** Replaces `{workspace}`, `{outside}` and their names, in any nested value. */
  fill<T>(value: T): T;
  apply(steps: readonly SetupStep[]): void;
  remove(): void;
}

export function temporaryWorkspace(): TemporaryWorkspace {
  const parent = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-')));
  const workspace: TemporaryWorkspace = {
    root: join(parent, 'workspace'),
    outside: join(parent, 'outside'),
    fill: (value) => fill(value, workspace),
    apply: (steps) => {
      for (const step of steps) applyStep(fill(step, workspace), workspace, parent);
    },
    remove: () => rmSync(parent, { recursive: true, force: true }),
  };
  mkdirSync(workspace.outside);
  writeFixture(workspace.root);
  return workspace;
}

function writeFixture(root: string): void {
  const fixture = JSON.parse(readFileSync(new URL('fixture.json', securityFolder), 'utf8')) as Fixture;
  for (const [path, content] of Object.entries(fixture.files)) writeInside(root, path, content);
  // The content of archives does not matter to a decision; only that they are ordinary files.
  for (const name of Object.keys(fixture.archives)) writeInside(root, name, 'archive');
  execFileSync('git', ['init', '--quiet', root]);
}

function writeInside(root: string, path: string, content: string | Uint8Array): void {
  const target = path.startsWith('/') ? path : join(root, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, content);
}

function applyStep(step: SetupStep, workspace: TemporaryWorkspace, parent: string): void {
  const target = step.path?.startsWith('/') ? step.path : join(workspace.root, step.path ?? '');
  switch (step.op) {
    case 'file':
      writeInside(workspace.root, step.path, step.content ?? '');
      return;
    case 'bytes':
      writeInside(workspace.root, step.path, Buffer.from(step.base64 ?? '', 'base64'));
      return;
    case 'dir':
      mkdirSync(target, { recursive: true });
      return;
    case 'symlink':
      mkdirSync(dirname(target), { recursive: true });
      symlinkSync(step.target ?? '', target);
      return;
    case 'sparse':
      writeFileSync(target, '');
      truncateSync(target, step.size ?? 0);
      return;
    case 'fifo':
      execFileSync('mkfifo', [target]);
      return;
    case 'socket':
      createServer().listen(target).unref();
      return;
    case 'workspace_via_symlink': {
      const link = join(parent, 'workspace-link');
      symlinkSync(basename(workspace.root), link);
      workspace.root = link;
      return;
    }
    default:
      throw new Error(`The cases have a new set-up operation: ${step.op}`);
  }
}

function fill<T>(value: T, workspace: TemporaryWorkspace): T {
  if (typeof value === 'string') {
    return value
      .replaceAll('{workspace}', workspace.root)
      .replaceAll('{workspace_name}', basename(workspace.root))
      .replaceAll('{outside}', workspace.outside)
      .replaceAll('{outside_name}', basename(workspace.outside)) as T;
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, workspace)) as T;
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, workspace)])) as T;
  }
  return value;
}
