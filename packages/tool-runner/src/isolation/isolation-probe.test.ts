import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inspectIsolation, probeIsolation } from './isolation-probe.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-report-'));
const broken = join(folder, 'bwrap');
beforeAll(() => {
  writeFileSync(broken, '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n');
  chmodSync(broken, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true }));

const foundBroken = (name: string) => (name === 'bwrap' ? broken : `/usr/bin/${name}`);
const working = (report: Awaited<ReturnType<typeof inspectIsolation>>) =>
  report.checks.filter(({ works }) => works).map(({ name }) => name);

describe('inspectIsolation', () => {
  it('[RN-11] says whether commands run in layers, and why not', async () => {
    const stateFolder = join(folder, 'state');
    const look = async (root: string) =>
      (await inspectIsolation({ workspace: { root, stateFolder } })).checks;
    mkdirSync(join(folder, 'a,b'));
    mkdirSync(join(folder, 'plain'));
    expect(await look(join(folder, 'plain'))).toContainEqual({
      name: 'layers',
      works: true,
      says: 'what a command writes lands in the workspace when it has ended',
    });
    const without = (await look(join(folder, 'a,b'))).find(({ name }) => name === 'layers');
    expect(without).toMatchObject({ works: false, says: expect.stringContaining('has a colon, a comma') });
    expect(without?.remedy).toContain('cannot be undone');
    const report = await inspectIsolation({ workspace: { root: join(folder, 'a,b'), stateFolder } });
    expect(report.level).toBe('partial');
  });

  it('[RN-5] says what works here', async () => {
    const report = await inspectIsolation();
    expect(report.level).toBe('full');
    expect(working(report)).toEqual([
      'bubblewrap',
      'user namespace',
      'processes',
      'network',
      'masks',
      'limits',
      'conversation',
      'system calls',
    ]);
    expect(report.notes[0]).toContain('never this machine itself');
  });

  it('[RN-5] claims nothing where bubblewrap does not work, and says how to get it', async () => {
    const report = await inspectIsolation({
      find: foundBroken,
      system: 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n',
    });
    expect(report.level).toBe('none');
    expect(working(report)).toEqual(['bubblewrap', 'limits']);
    expect(report.checks[1]).toEqual({
      name: 'user namespace',
      works: false,
      says: 'bubblewrap does not work here (bwrap: No permissions to create new namespace)',
      remedy: expect.stringContaining('AppArmor'),
    });
    const other = await inspectIsolation({ find: foundBroken, system: 'ID=debian\n' });
    expect(other.checks[1]?.remedy).toContain('user.max_user_namespaces');
  });

  it.each([
    ['ID=linuxmint\nID_LIKE="ubuntu debian"\n', 'sudo apt install bubblewrap'],
    ['ID=fedora\n', 'sudo dnf install bubblewrap'],
    ['ID=arch\n', 'sudo pacman -S bubblewrap'],
    ['', 'Install the package bubblewrap of your system.'],
  ])('[RN-5] says how to install what is missing: %j', async (system, remedy) => {
    const report = await inspectIsolation({ find: () => undefined, system });
    expect(report.level).toBe('none');
    expect(report.checks[0]).toEqual({
      name: 'bubblewrap',
      works: false,
      says: 'bubblewrap is not installed',
      remedy,
    });
    expect(report.checks[1]).toMatchObject({ name: 'limits', works: false });
    expect(report.notes[0]).toContain('ask first');
  });

  it('[RN-5] claims nothing elsewhere', async () => {
    expect(await inspectIsolation({ platform: 'darwin' })).toMatchObject({
      level: 'none',
      checks: [{ name: 'bubblewrap', works: false, says: 'isolation needs Linux, and this is darwin' }],
    });
    expect(probeIsolation(undefined, 'win32')).toEqual({
      problem: 'isolation needs Linux, and this is win32',
    });
  });

  it('[RN-5] says when system calls are not filtered', async () => {
    const report = await inspectIsolation({ arch: 'riscv64' });
    expect(report.level).toBe('partial');
    expect(report.checks.at(-1)).toMatchObject({ name: 'system calls', works: false });
  });
});

describe('probeIsolation', () => {
  it('[RN-5] tries it rather than believing it', () => {
    expect(probeIsolation()).toEqual({
      tools: {
        bubblewrap: expect.any(String),
        prlimit: expect.any(String),
        nsenter: expect.any(String),
      },
    });
    expect(probeIsolation(broken)).toEqual({ problem: expect.stringContaining('No permissions') });
    expect(probeIsolation('/no/such/bwrap')).toEqual({ problem: 'bubblewrap is not installed' });
  });

  it('[RN-5] does not isolate without limits', () => {
    expect(probeIsolation(undefined, undefined, () => undefined)).toEqual({
      problem: 'prlimit (of util-linux) is not installed',
    });
  });
});
