import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFixture } from './git-fixture.test-data.ts';

/**
 * Without isolation on purpose, so that only what git is told keeps the attacker's program from running. Each trick is
 * first shown to work on the person's own git, so that a passing test means something.
 */
let fixture: GitFixture;
beforeEach(() => {
  fixture = new GitFixture({ isolated: false });
  expect(fixture.isIsolated).toBe(false);
  fixture.withCommit();
});
afterEach(() => fixture.remove());

/** Makes `a.txt` differ, but not in size, so that git must read it. */
function touchFile(): void {
  fixture.write('a.txt', 'one\nTWO\nthree\n');
  const later = new Date(Date.now() + 5_000);
  utimesSync(join(fixture.root, 'a.txt'), later, later);
}

/** git writes the index only if an entry needs a refresh: a file with another time and the same content. */
function makeIndexStale(): void {
  fixture.write('same.txt', 'same\n');
  fixture.git('add', 'same.txt');
  utimesSync(join(fixture.root, 'same.txt'), 1_000_000_000, 1_000_000_000);
}

async function readsRunNothing(): Promise<void> {
  fixture.takeMarks();
  const answers = await fixture.allReads();
  expect(answers.filter((answer) => answer instanceof Error)).toEqual([]);
  const lines = await fixture.allLines();
  expect(lines.length).toBeGreaterThan(5);
  // A line may end with what its last command says, but git must have found the repository.
  expect(lines.filter(({ answer }) => /not a git repository|fatal/.test(answer.stderr))).toEqual([]);
  expect(fixture.takeMarks()).toEqual([]);
}

interface Trick {
  readonly name: string;
  readonly plant: () => void;
  /** A command that a person would run, and that then runs the canary. */
  readonly trigger: readonly string[];
  readonly input?: string;
}

const attributes = (text: string): void => fixture.write('.gitattributes', `${text}\n`);
const config = (key: string, value: string): string => fixture.git('config', key, value);

const tricks: readonly Trick[] = [
  {
    name: 'fsmonitor',
    plant: () => config('core.fsmonitor', fixture.canary('canary')),
    trigger: ['status'],
  },
  {
    name: 'a clean filter',
    plant: () => {
      config('filter.x.clean', fixture.canary('canary'));
      attributes('* filter=x');
    },
    trigger: ['status'],
  },
  {
    name: 'a clean filter with an odd name',
    plant: () => {
      fixture.write(
        '.git/config',
        `${readFileSync(join(fixture.root, '.git/config'), 'utf8')}[filter "a.b=c]"]\n\tclean = ${fixture.canary('canary')}\n`,
      );
      attributes('* filter=a.b=c]');
    },
    trigger: ['status'],
  },
  {
    name: 'a required process filter',
    plant: () => {
      config('filter.x.process', fixture.canary('canary', 'exit 1'));
      config('filter.x.required', 'true');
      attributes('* filter=x');
    },
    trigger: ['diff'],
  },
  {
    name: 'a filter named by .git/info/attributes',
    plant: () => {
      config('filter.x.clean', fixture.canary('canary'));
      fixture.write('.git/info/attributes', '* filter=x\n');
    },
    trigger: ['status'],
  },
  {
    name: 'textconv',
    plant: () => {
      config('diff.x.textconv', fixture.canary('canary'));
      attributes('* diff=x');
    },
    trigger: ['diff'],
  },
  {
    name: 'a diff driver with a command',
    plant: () => {
      config('diff.x.command', fixture.canary('canary'));
      attributes('* diff=x');
    },
    trigger: ['diff'],
  },
  {
    name: 'an external diff',
    plant: () => config('diff.external', fixture.canary('canary')),
    trigger: ['diff'],
  },
  {
    name: 'a gpg program',
    plant: () => {
      config('gpg.program', fixture.canary('canary'));
      config('log.showSignature', 'true');
      const signed = `tree ${fixture.git('write-tree').trim()}
author Ada <ada@example.org> 1700000000 +0000
committer Ada <ada@example.org> 1700000000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 
 abc
 -----END PGP SIGNATURE-----

signed
`;
      fixture.write(`${fixture.outside}/object`, signed);
      const id = fixture.git('hash-object', '-t', 'commit', '-w', `${fixture.outside}/object`).trim();
      fixture.git('update-ref', 'refs/heads/main', id);
    },
    trigger: ['log'],
  },
  {
    name: 'an alias in place of a command',
    plant: () => {
      config('alias.state', `!${fixture.canary('canary')}`);
      for (const name of ['status', 'diff', 'log', 'for-each-ref', 'symbolic-ref', 'rev-parse']) {
        config(`alias.${name}`, `!${fixture.canary('canary')}`);
      }
    },
    trigger: ['state'],
  },
  {
    name: 'hooks of every kind',
    plant: () => {
      const hook = fixture.canary('canary');
      for (const name of [
        'post-index-change',
        'fsmonitor-watchman',
        'reference-transaction',
        'pre-auto-gc',
      ]) {
        cpSync(hook, join(fixture.root, '.git/hooks', name));
        chmodSync(join(fixture.root, '.git/hooks', name), 0o755);
      }
      makeIndexStale();
    },
    trigger: ['status'],
  },
  {
    name: 'hooks in a folder of the work tree',
    plant: () => {
      mkdirSync(join(fixture.root, 'hooks'));
      cpSync(fixture.canary('canary'), join(fixture.root, 'hooks/post-index-change'));
      chmodSync(join(fixture.root, 'hooks/post-index-change'), 0o755);
      makeIndexStale();
      config('core.hooksPath', 'hooks');
    },
    trigger: ['status'],
  },
  {
    name: 'an ssh command and an upload-pack command',
    plant: () => {
      config('remote.origin.url', 'ssh://host.invalid/x');
      config('core.sshCommand', fixture.canary('canary', 'exit 1'));
      config('remote.origin.uploadpack', fixture.canary('canary', 'exit 1'));
    },
    trigger: ['fetch'],
  },
  {
    name: 'a proxy for git',
    plant: () => {
      config('core.gitProxy', fixture.canary('canary', 'exit 1'));
      config('remote.origin.url', 'git://host.invalid/x');
    },
    trigger: ['fetch'],
  },
  {
    name: 'a credential helper and an askpass program',
    plant: () => {
      config('credential.helper', `!${fixture.canary('canary', 'exit 1')}`);
      config('core.askPass', fixture.canary('canary', 'exit 1'));
    },
    trigger: ['credential', 'fill'],
    input: 'protocol=https\nhost=example.org\n\n',
  },
  {
    name: 'an included file of the work tree',
    plant: () => {
      fixture.write('evil.cfg', `[core]\n\tfsmonitor = ${fixture.canary('canary')}\n`);
      config('include.path', '../evil.cfg');
    },
    trigger: ['status'],
  },
  {
    name: 'a setting for this work tree only',
    plant: () => {
      config('core.repositoryformatversion', '1');
      config('extensions.worktreeConfig', 'true');
      fixture.git('config', '--worktree', 'core.fsmonitor', fixture.canary('canary'));
    },
    trigger: ['status'],
  },
  {
    name: 'a command that lists the refs of alternates',
    plant: () => {
      cpSync(join(fixture.root, '.git'), join(fixture.root, 'other.git'), { recursive: true });
      fixture.write('.git/objects/info/alternates', '../../other.git/objects\n');
      config('core.alternateRefsCommand', fixture.canary('canary'));
    },
    trigger: ['rev-list', '--alternate-refs', '--max-count=1'],
  },
  {
    name: 'a submodule with its own fsmonitor and an update command',
    plant: () => {
      const sub = join(fixture.root, 'sub');
      fixture.git('init', '-q', sub);
      fixture.write('sub/file', 'x');
      fixture.git('-C', sub, 'add', '.');
      fixture.git('-C', sub, 'commit', '-q', '-m', 'sub');
      fixture.git('-c', 'advice.addEmbeddedRepo=false', 'add', 'sub');
      fixture.git('-C', sub, 'config', 'core.fsmonitor', fixture.canary('canary'));
      fixture.write('.gitmodules', '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n');
      fixture.git('config', 'submodule.sub.update', `!${fixture.canary('canary')}`);
      fixture.git('config', 'submodule.recurse', 'true');
      fixture.write('sub/new', 'x');
    },
    trigger: ['status'],
  },
];

describe("[RN-6] an attacker's repository runs nothing on a LOW call", () => {
  it.each(tricks)('$name', async ({ plant, trigger, input }) => {
    plant();
    touchFile();
    fixture.takeMarks();
    fixture.tryGit(trigger, input);
    // Shows that the trick works on git itself; otherwise a passing test would prove nothing.
    expect(fixture.takeMarks()).toEqual(['canary']);
    touchFile();
    await readsRunNothing();
  });

  it('a lazy fetch of an object that is missing', async () => {
    config('core.repositoryformatversion', '1');
    config('extensions.partialClone', 'origin');
    config('remote.origin.url', 'ssh://host.invalid/x');
    config('remote.origin.promisor', 'true');
    config('core.sshCommand', fixture.canary('canary', 'exit 1'));
    const blob = fixture.git('rev-parse', 'HEAD:a.txt').trim();
    rmSync(join(fixture.root, '.git/objects', blob.slice(0, 2), blob.slice(2)));
    touchFile();
    fixture.tryGit(['diff']);
    expect(fixture.takeMarks()).toEqual(['canary']);
    const [, diff] = await fixture.allReads();
    expect(diff).toMatchObject({ code: 'GIT_FAILED', message: expect.stringContaining(blob) });
    expect(fixture.takeMarks()).toEqual([]);
  });

  it('pagers and editors, which need a terminal, are not even known', async () => {
    config('core.pager', fixture.canary('canary'));
    for (const name of ['status', 'log', 'diff', 'branch']) config(`pager.${name}`, fixture.canary('canary'));
    config('core.editor', fixture.canary('canary'));
    config('sequence.editor', fixture.canary('canary'));
    touchFile();
    await readsRunNothing();
  });

  it('a program called git in the workspace', async () => {
    cpSync(fixture.canary('canary'), join(fixture.root, 'git'));
    chmodSync(join(fixture.root, 'git'), 0o755);
    await readsRunNothing();
  });

  it('variables of git in the environment of the runner', async () => {
    const saved = { ...process.env };
    try {
      Object.assign(process.env, {
        GIT_DIR: fixture.outside,
        GIT_EXTERNAL_DIFF: fixture.canary('canary'),
        GIT_SSH_COMMAND: fixture.canary('canary'),
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'core.fsmonitor',
        GIT_CONFIG_VALUE_0: fixture.canary('canary'),
      });
      touchFile();
      await readsRunNothing();
    } finally {
      process.env = saved;
    }
  });

  it("the person's own global configuration is not in force either", async () => {
    appendFileSync(join(fixture.home, '.gitconfig'), `[core]\n\tfsmonitor = ${fixture.canary('canary')}\n`);
    touchFile();
    fixture.tryGit(['status']);
    expect(fixture.takeMarks()).toEqual(['canary']);
    await readsRunNothing();
  });

  it('a preview runs nothing, and a commit only the hooks that it listed', async () => {
    config('core.fsmonitor', fixture.canary('fsmonitor'));
    config('commit.gpgSign', 'true');
    config('gpg.program', fixture.canary('gpg'));
    config('core.editor', fixture.canary('editor'));
    config('diff.external', fixture.canary('external'));
    cpSync(fixture.canary('hook'), join(fixture.root, '.git/hooks/pre-commit'));
    chmodSync(join(fixture.root, '.git/hooks/pre-commit'), 0o755);
    touchFile();
    fixture.takeMarks();
    const params = { message: 'change', files: ['a.txt'] };
    expect((await fixture.preview('git_commit', params)).preview).toMatchObject({
      hooks: ['.git/hooks/pre-commit'],
    });
    expect(fixture.takeMarks()).toEqual([]);
    await fixture.call('git_commit', params);
    expect(fixture.takeMarks()).toEqual(['hook']);
    await fixture.call('git_branch', { name: 'new', create: true });
    expect(fixture.takeMarks()).toEqual([]);
  });
});

describe('[RN-6] a repository that points outside is refused', () => {
  const refusedReads = async (problem: RegExp): Promise<void> => {
    const answers = await fixture.allReads();
    for (const answer of answers) {
      expect(answer).toMatchObject({ code: 'REPOSITORY_UNSAFE', message: expect.stringMatching(problem) });
    }
  };
  /** A second repository, outside, with a file that must not be seen. */
  const outsideRepository = (): string => {
    const other = join(fixture.outside, 'other');
    fixture.git('init', '-q', other);
    fixture.write(`${other}/secret.txt`, 'secret');
    fixture.git('-C', other, 'add', '.');
    fixture.git('-C', other, 'commit', '-qm', 'secret');
    return other;
  };

  it('by its work tree', async () => {
    fixture.git('config', 'core.worktree', fixture.outside);
    await refusedReads(/core\.worktree/);
    const plain = readFileSync(join(fixture.root, '.git/config'), 'utf8');
    for (const place of ['', '.', '../sub', '/', '~']) {
      fixture.write('.git/config', `${plain}[core]\n\tworktree = "${place}"\n`);
      await refusedReads(/core\.worktree/);
    }
    // A work tree that is named at its real place is accepted.
    fixture.write('.git/config', '[core]\n\tworktree = ..\n');
    expect(await fixture.call('git_status')).toMatchObject({ branch: 'main' });
  });

  it('by a .git file, as in a linked work tree or a submodule, and by a link', async () => {
    const other = outsideRepository();
    rmSync(join(fixture.root, '.git'), { recursive: true });
    fixture.write('.git', `gitdir: ${other}/.git\n`);
    await refusedReads(/\.git is not a folder/);
    rmSync(join(fixture.root, '.git'));
    symlinkSync(join(other, '.git'), join(fixture.root, '.git'));
    await refusedReads(/\.git is not a folder/);
  });

  it('by commondir', async () => {
    fixture.write('.git/commondir', `${outsideRepository()}/.git\n`);
    await refusedReads(/commondir/);
  });

  it('by alternates, also through another store inside', async () => {
    const other = outsideRepository();
    fixture.write('.git/objects/info/alternates', `# borrowed\n${other}/.git/objects\n`);
    await refusedReads(/alternates/);
    fixture.write('.git/objects/info/alternates', `"${other}/.git/obj\\145cts"\n`);
    await refusedReads(/alternates/);
    fixture.write('store/info/alternates', '../../outside/other/.git/objects\n');
    fixture.write('.git/objects/info/alternates', '../../store\n');
    await refusedReads(/store\/info\/alternates/);
    rmSync(join(fixture.root, 'store/info/alternates'));
    expect(await fixture.call('git_status')).toMatchObject({ branch: 'main' });
    // A circle of alternates ends, and a long chain is refused.
    fixture.write('store/info/alternates', '../.git/objects\n');
    expect(await fixture.call('git_status')).toMatchObject({ branch: 'main' });
    fixture.write(
      '.git/objects/info/alternates',
      Array.from({ length: 30 }, (_, i) => `../../s${i}\n`).join(''),
    );
    await refusedReads(/too many alternates/);
  });

  it.each(['config', 'HEAD', 'objects', 'refs', 'index', 'info', 'packed-refs', 'logs'])(
    'by a link in place of .git/%s',
    async (name) => {
      const place = join(fixture.root, '.git', name);
      if (existsSync(place)) renameSync(place, join(fixture.outside, name));
      symlinkSync(join(fixture.outside, name), place);
      await refusedReads(new RegExp(`its \\.git/${name}.* leads outside`));
    },
  );

  it('by what its configuration includes', async () => {
    fixture.write(`${fixture.outside}/evil.cfg`, '[user]\n\tname = Mallory\n');
    const plain = readFileSync(join(fixture.root, '.git/config'), 'utf8');
    for (const section of ['include', 'includeIf "gitdir:**"', 'includeIf "onbranch:main"']) {
      for (const path of [`${fixture.outside}/evil.cfg`, '../../outside/evil.cfg', '~/evil.cfg', '']) {
        fixture.write('.git/config', `${plain}[${section}]\n\tpath = ${path}\n`);
        await refusedReads(/include/);
      }
    }
    // An include inside the workspace counts, a conditional one is not followed, and a circle of includes ends.
    fixture.write(
      '.git/config',
      `${plain}[include]\n\tpath = ../inside.cfg\n[includeIf "gitdir:**"]\n\tpath = ../if.cfg\n`,
    );
    fixture.write('inside.cfg', '[user]\n\tname = Eve\n[include]\n\tpath = inside.cfg\n\tpath = gone.cfg\n');
    fixture.write('if.cfg', '[user]\n\tname = Mallory\n');
    fixture.write('a.txt', 'changed\n');
    expect((await fixture.call('git_commit', { message: 'm', files: ['a.txt'] })).commit.author).toBe('Eve');
    fixture.write(
      'inside.cfg',
      Array.from({ length: 30 }, (_, i) => `[include]\n\tpath = i${i}.cfg\n`).join(''),
    );
    for (let i = 0; i < 30; i++) fixture.write(`i${i}.cfg`, `[a]\n\tb = ${i}\n`);
    await refusedReads(/includes too many/);
  });

  it('by a configuration that cannot be read, an unknown extension, or no work tree', async () => {
    const plain = readFileSync(join(fixture.root, '.git/config'), 'utf8');
    fixture.write('.git/config', `${plain}[broken`);
    await refusedReads(/cannot be read/);
    fixture.write('.git/config', `${plain}# ${'x'.repeat(2 * 1024 * 1024)}\n`);
    await refusedReads(/small regular file/);
    fixture.write('.git/config', '[core]\n\trepositoryformatversion = 1\n[extensions]\n\tnewThing = true\n');
    await refusedReads(/newthing/);
    fixture.write('.git/config', '[core]\n\tbare\n');
    await refusedReads(/bare/);
  });

  it('by an index whose entries lead out of the work tree', async () => {
    fixture.write(`${fixture.outside}/secret.txt`, 'secret\n');
    // Forges a path in the index by one of the same length, because git itself would not write such a path.
    fixture.write('xx/outside/secret.txt', 'other\n');
    fixture.git('add', '.');
    fixture.git('-c', 'index.version=2', 'update-index', '--force-write-index');
    const index = readFileSync(join(fixture.root, '.git/index'), 'latin1');
    const forged = Buffer.from(index.replace('xx/outside/secret.txt', '../outside/secret.txt'), 'latin1');
    const { createHash } = await import('node:crypto');
    createHash('sha1')
      .update(forged.subarray(0, -20))
      .digest()
      .copy(forged, forged.length - 20);
    fixture.write('.git/index', forged);
    expect(fixture.git('ls-files')).toContain('../outside/secret.txt');
    for (const tool of ['git_status', 'git_diff'] as const) {
      await expect(fixture.call(tool)).rejects.toMatchObject({ code: 'REPOSITORY_UNSAFE' });
    }
  });

  it('reports why it cannot be read, with a code', async () => {
    rmSync(join(fixture.root, '.git/objects/info'), { recursive: true, force: true });
    fixture.write('.git/objects/info', 'a file where a folder must be');
    for (const answer of await fixture.allReads()) {
      expect(answer).toMatchObject({ code: 'NOT_A_DIRECTORY' });
    }
  });

  it('and so is a workspace below a repository; without any, there is none', async () => {
    rmSync(join(fixture.root, '.git'), { recursive: true });
    for (const answer of await fixture.allReads()) expect(answer).toMatchObject({ code: 'NOT_A_REPOSITORY' });
    mkdirSync(join(fixture.root, '.git'));
    for (const answer of await fixture.allReads()) expect(answer).toMatchObject({ code: 'NOT_A_REPOSITORY' });
    rmSync(join(fixture.root, '.git'), { recursive: true });
    fixture.git('init', '-q', fixture.parent);
    await refusedReads(/starts above the workspace/);
  });
});

it('[RN-6] in isolation a filter of the repository would see neither network nor outside', async () => {
  await fixture.remove();
  fixture = new GitFixture();
  fixture.withCommit();
  expect(fixture.isIsolated).toBe(true);
  // Links among the objects are not checked: a link to outside leads nowhere in isolation.
  const id = fixture.git('rev-parse', 'HEAD').trim();
  const object = join(fixture.root, '.git/objects', id.slice(0, 2), id.slice(2));
  renameSync(object, join(fixture.outside, 'object'));
  symlinkSync(join(fixture.outside, 'object'), object);
  expect(fixture.git('log', '--oneline')).toContain('first');
  await expect(fixture.call('git_log')).rejects.toMatchObject({ code: 'GIT_FAILED' });
});
