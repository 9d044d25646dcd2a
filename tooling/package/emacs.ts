/**
 * `npm run package:emacs`: packs the Emacs client as `dist/countersign-VERSION.tar`, or into the folder of `--out`.
 * `M-x package-install-file` installs it. The version and the requirements are those of `countersign.el`.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { repositoryRoot } from '../set-up.mjs';

const source = join(repositoryRoot, 'apps', 'emacs');
const { values } = parseArgs({ options: { out: { type: 'string' } } });
const output = resolve(values.out ?? join(repositoryRoot, 'dist'));

function packageEmacs(): string {
  const main = readFileSync(join(source, 'countersign.el'), 'utf8');
  const version = header(main, 'Version');
  const name = `countersign-${version}`;
  const stage = join(output, name);
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  for (const file of readdirSync(source))
    if (/^countersign.*\.(el|json)$/.test(file)) cpSync(join(source, file), join(stage, file));
  cpSync(join(source, 'README.md'), join(stage, 'README.md'));
  cpSync(join(source, 'images'), join(stage, 'images'), { recursive: true });
  cpSync(join(repositoryRoot, 'LICENSE'), join(stage, 'LICENSE'));
  writeFileSync(join(stage, 'countersign-pkg.el'), description(main, version));
  const tar = `${name}.tar`;
  // Emacs reads the old tar format; the owner is of no interest.
  execFileSync('tar', ['--format=ustar', '-cf', tar, name], { cwd: output, stdio: 'inherit' });
  rmSync(stage, { recursive: true });
  return join(output, tar);
}

/** What package.el reads about a package of several files. */
function description(main: string, version: string): string {
  const summary = /^;;; countersign\.el --- (.+?) {2}-\*-/.exec(main)?.[1];
  if (summary === undefined) throw new Error('countersign.el has no summary in its first line.');
  const requirements = header(main, 'Package-Requires');
  return `;; Written by tooling/package/emacs.ts  -*- no-byte-compile: t -*-
(define-package "countersign" "${version}" "${summary}"
  '${requirements}
  :url "${header(main, 'URL')}"
  :keywords '(${header(main, 'Keywords')
    .split(/,\s*/)
    .map((word) => `"${word}"`)
    .join(' ')}))
`;
}

function header(main: string, name: string): string {
  const value = new RegExp(`^;; ${name}: (.+)$`, 'm').exec(main)?.[1];
  if (value === undefined) throw new Error(`countersign.el has no ${name} header.`);
  return value;
}

console.log(packageEmacs());
