import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { realDisk, type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PathValidator } from './path-validator.ts';

let workspace: TemporaryWorkspace;
let onDisk: PathValidator;
let byText: PathValidator;

beforeAll(() => {
  workspace = temporaryWorkspace();
  const { root, outside } = workspace;
  writeFileSync(join(outside, 'secret.txt'), 'secret');
  writeFileSync(join(root, '.env'), 'TOKEN=x');
  mkdirSync(join(root, 'deep/er'), { recursive: true });
  symlinkSync(outside, join(root, 'out'));
  symlinkSync('deep/er', join(root, 'jump'));
  symlinkSync('.env', join(root, 'plan.md'));
  symlinkSync('plan.md', join(root, 'plan2.md'));
  symlinkSync('loop-b', join(root, 'loop-a'));
  symlinkSync('loop-a', join(root, 'loop-b'));
  symlinkSync(join(root, 'docs/guide.md'), join(root, 'absolute-inside'));
  linkSync(join(root, 'README.md'), join(root, 'second-name.md'));
  onDisk = new PathValidator({ root, disk: realDisk });
  byText = new PathValidator({ root });
});
afterAll(() => workspace.remove());

const codeOf = (validator: PathValidator, path: unknown, from?: string): string => {
  const check = validator.check(path, from);
  return check.ok ? `ok ${check.relative}` : check.refused.code;
};

describe('PathValidator', () => {
  it('[VA-1] follows links as the kernel does and keeps what stays inside', () => {
    expect(codeOf(onDisk, 'docs/../README.md')).toBe('ok README.md');
    expect(codeOf(onDisk, 'jump/../x')).toBe('ok deep/x');
    expect(codeOf(onDisk, 'absolute-inside')).toBe('ok docs/guide.md');
    expect(codeOf(onDisk, `${workspace.root}/src/app.ts`)).toBe('ok src/app.ts');
    expect(codeOf(onDisk, '.')).toBe('ok ');
    expect(codeOf(onDisk, 'app.ts', 'src')).toBe('ok src/app.ts');
    expect(codeOf(onDisk, '../README.md', 'src')).toBe('ok README.md');
  });

  it.each(['..', '../x', 'a/../../x', '/', '/etc/passwd', '../../etc/hosts'])(
    '[VA-1] %j is outside, by text alone',
    (path) => {
      expect([codeOf(byText, path), codeOf(onDisk, path)]).toEqual([
        'PATH_OUTSIDE_WORKSPACE',
        'PATH_OUTSIDE_WORKSPACE',
      ]);
    },
  );

  it.each(['out', 'out/', 'out/secret.txt', 'out/missing', 'src/../out/secret.txt'])(
    '[VA-1] %j is outside, by a link',
    (path) => {
      expect(codeOf(onDisk, path)).toBe('PATH_OUTSIDE_WORKSPACE');
    },
  );

  it('[VA-1] does not mistake a sibling with the same beginning for the root', () => {
    expect(codeOf(byText, `${workspace.root}-copy/a.txt`)).toBe('PATH_OUTSIDE_WORKSPACE');
  });

  it('[VA-1] refuses endless links, NUL, Windows forms, the home sign and names that are not text', () => {
    for (const path of [
      'loop-a',
      'a\0b',
      'C:\\x',
      'c:/x',
      'C:',
      '..\\x',
      '\\\\host\\share',
      'a.txt::$DATA',
      '~/x',
      '~',
      './~/x',
      '',
      '\ud800',
    ]) {
      expect([path, codeOf(onDisk, path)]).toEqual([path, 'PATH_INVALID']);
    }
    for (const path of [42, null, undefined, ['src'], { path: 'x' }, 'x'.repeat(5000)]) {
      expect(codeOf(onDisk, path)).toBe('PATH_INVALID');
    }
  });

  it('[AP-7] bounds a name and a path in bytes, as file systems do', () => {
    const names = ['x'.repeat(255), 'я'.repeat(127), '語'.repeat(85), `${'x'.repeat(255)}/`];
    for (const name of names)
      expect([name, codeOf(byText, name)]).toEqual([name, `ok ${name.replace('/', '')}`]);
    for (const name of ['x'.repeat(256), 'я'.repeat(128), '語'.repeat(86), `a/${'x'.repeat(256)}/../b`])
      expect([name, codeOf(byText, name), codeOf(onDisk, name)]).toEqual([
        name,
        'PATH_INVALID',
        'PATH_INVALID',
      ]);
    const deep = (bytes: number) => 'я/'.repeat(bytes).slice(0, bytes);
    expect([codeOf(byText, deep(2730)), codeOf(byText, deep(2732))]).toEqual([
      `ok ${deep(2730).slice(0, -1)}`,
      'PATH_INVALID',
    ]);
  });

  it('[AP-7] quotes only the beginning of a path that it refuses', () => {
    const check = byText.check('x'.repeat(1_000_000));
    expect(!check.ok && JSON.stringify(check.refused).length < 2_000).toBe(true);
  });

  it('[VA-1] takes encodings literally', () => {
    expect(codeOf(onDisk, '%2e%2e/outside')).toBe('ok %2e%2e/outside');
    expect(codeOf(onDisk, '..;/x')).toBe('ok ..;/x');
  });

  it('[VA-2] refuses a sensitive file under every name it has', () => {
    for (const path of [
      '.env',
      './src/../.env',
      '.ENV',
      'plan.md',
      'plan2.md',
      'src/.env.local',
      '.ssh/id_rsa',
    ]) {
      expect([path, codeOf(onDisk, path)]).toEqual([path, 'PATH_SENSITIVE']);
    }
  });

  it('[RK-5] lifts a sensitive path only where the exact path was named', () => {
    const lifted = new PathValidator({
      root: workspace.root,
      disk: realDisk,
      liftedSensitivePaths: new Set(['.env']),
    });
    expect(lifted.check('.env')).toMatchObject({ ok: true, liftedSensitive: { id: 'SENS-1' } });
    expect(codeOf(lifted, 'plan.md')).toBe('PATH_SENSITIVE');
    expect(codeOf(lifted, 'src/.env')).toBe('PATH_SENSITIVE');
  });

  it('[VA-1] reports hard links', () => {
    expect(onDisk.check('second-name.md')).toMatchObject({ ok: true, entry: { type: 'file', hardLinks: 2 } });
  });

  it('opens a root that is itself reached through a link', () => {
    const via = temporaryWorkspace();
    via.apply([{ op: 'workspace_via_symlink', path: '' }]);
    const validator = new PathValidator({ root: via.root, disk: realDisk });
    expect(codeOf(validator, `${via.root}/README.md`)).toBe('ok README.md');
    expect(codeOf(validator, `${via.root.replace('-link', '')}/README.md`)).toBe('ok README.md');
    expect(codeOf(validator, '../outside')).toBe('PATH_OUTSIDE_WORKSPACE');
    via.remove();
  });

  it('requires an absolute root', () => {
    expect(() => new PathValidator({ root: 'relative' })).toThrow(/absolute/);
  });
});

describe('PathValidator, for any input', () => {
  const refusedPaths = [
    '.env',
    'plan.md',
    'out/secret.txt',
    '../x',
    'loop-a',
    '.ssh/config',
    'src/../../x',
    '~/x',
  ];
  const respellings: ((path: string) => string)[] = [
    (path) => `./${path}`,
    (path) => `src/../${path}`,
    (path) => `${path}/.`,
    (path) => path.replaceAll('/', '//'),
    (path) => `docs/.././${path}`,
    (path) => `${workspace.root}/${path}`,
    (path) => `${workspace.root}/./${path}`,
    (path) => `${workspace.root}//src/../${path}`,
    (path) => `../workspace/${path}`,
  ];

  it('a refused path stays refused under any re-spelling that names the same file', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...refusedPaths),
        fc.array(fc.nat(respellings.length - 1), { maxLength: 4 }),
        (path, choices) => {
          let spelled = path;
          for (const choice of choices) {
            if (choice >= 5 && spelled.startsWith('/')) continue;
            if (spelled.startsWith('/')) spelled = spelled.replace(workspace.root, `${workspace.root}/.`);
            else spelled = (respellings[choice] as (text: string) => string)(spelled);
          }
          return !onDisk.check(spelled).ok;
        },
      ),
      { numRuns: 500 },
    );
  });

  it('never crashes, and whatever it lets through is inside', () => {
    const piece = fc.oneof(
      fc.constantFrom('..', '.', '', 'out', 'jump', 'plan.md', 'src', '.env', '~', 'loop-a'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), fc.boolean(), (pieces, absolute) => {
        const check = onDisk.check((absolute ? '/' : '') + pieces.join('/'));
        return !check.ok || (!check.relative.split('/').includes('..') && !check.relative.startsWith('out/'));
      }),
      { numRuns: 1000 },
    );
  });
});
