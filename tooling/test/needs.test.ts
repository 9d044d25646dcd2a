import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, getuid } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installHint, installMissing, nameOf } from './needs.ts';

const editor = { program: 'the-editor', debianPackage: 'editor-nox' };
const path = env.PATH;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-needs-'));
  env.PATH = folder;
});

afterEach(() => {
  env.PATH = path;
  rmSync(folder, { recursive: true });
});

describe('programs that a part of the suite needs', () => {
  it('are not installed when they exist', async () => {
    putProgram('the-editor', '');
    expect(await installMissing([editor])).toEqual([]);
  });

  it('may be files with an absolute path', async () => {
    const hook = { program: join(folder, 'hook'), debianPackage: 'elpa-hook' };
    env.PATH = '';
    expect(await installMissing([hook])).toEqual([hook]);
    putProgram('hook', '');
    expect(await installMissing([hook])).toEqual([]);
  });

  it('are reported when they are missing and cannot be installed', async () => {
    expect(await installMissing([editor])).toEqual([editor]);
  });

  it.runIf(getuid?.() === 0)(
    'are installed by apt-get for root, after an update when the lists are old',
    async () => {
      // As in a fresh container: `install` finds nothing before `update` has run.
      putProgram(
        'apt-get',
        `case "$*" in
         *update*) : > ${folder}/lists ;;
         *install\\ editor-nox) [ -e ${folder}/lists ] && printf '#!/bin/sh\\n' > ${folder}/the-editor && /bin/chmod +x ${folder}/the-editor ;;
       esac`,
      );
      expect(await installMissing([editor])).toEqual([]);
    },
  );

  it('are reported when apt-get fails', async () => {
    putProgram('apt-get', 'exit 100');
    expect(await installMissing([editor])).toEqual([editor]);
  });
});

describe('downloads', () => {
  const fetched = (isInstalled: boolean, comes: boolean) => {
    const need = {
      name: 'the other editor',
      isInstalled: () => isInstalled,
      fetch: async () => comes,
      fetches: 0,
    };
    need.fetch = async () => {
      need.fetches += 1;
      return comes;
    };
    return need;
  };

  it('are fetched only when they are missing', async () => {
    const [there, missing] = [fetched(true, false), fetched(false, true)];
    expect(await installMissing([there, missing])).toEqual([]);
    expect([there.fetches, missing.fetches]).toEqual([0, 1]);
  });

  it('are reported when the download fails', async () => {
    const need = fetched(false, false);
    expect(await installMissing([need])).toEqual([need]);
    expect([nameOf(need), installHint(need)]).toEqual(['the other editor', 'run it again with network']);
  });
});

function putProgram(name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}
