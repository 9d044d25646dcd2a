import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { realDisk, type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CERTIFICATE_BYTES } from './certificate.ts';
import { ToolCallPolicy } from './tool-call-policy.ts';

const body = `${'MIIB'.repeat(16)}\n${'abcd'.repeat(16)}\n`;
const block = (kind: string): string => `-----BEGIN ${kind}-----\n${body}-----END ${kind}-----\n`;
const certificate = block('CERTIFICATE');

const CERTIFICATES: Readonly<Record<string, string>> = {
  'cert.pem': certificate,
  'chain.pem': `# leaf\n${certificate}\nsubject=CN = x\n${certificate}`,
  'public.pem': block('PUBLIC KEY'),
  'dh.pem': block('DH PARAMETERS'),
  'request.pem': block('CERTIFICATE REQUEST'),
};
const SENSITIVE: Readonly<Record<string, string>> = {
  'both.pem': certificate + block('PRIVATE KEY'),
  'rsa.pem': block('RSA PRIVATE KEY'),
  'ec.pem': block('EC PRIVATE KEY'),
  'enc.pem': block('ENCRYPTED PRIVATE KEY'),
  'open.pem': `${certificate}-----BEGIN OPENSSH PRIVATE KEY-----\n${body}`,
  'bare.pem': certificate + body,
  'hex.pem': `${certificate}${'0a:1b:'.repeat(10)}\n`,
  'unknown.pem': block('SOMETHING'),
  'empty.pem': '',
  'text.pem': 'hello\n',
  'binary.pem': `${certificate}\u0000\u0001`,
  'large.pem': certificate + '# x\n'.repeat(CERTIFICATE_BYTES / 4),
  'key.pem': certificate,
  'private.pem': certificate,
  'mismatch.pem': `-----BEGIN CERTIFICATE-----\n${body}-----END PRIVATE KEY-----\n`,
  'cert.key': certificate,
  '.ssh/cert.pem': certificate,
};

describe('[VA-2] a certificate without a private key', () => {
  let workspace: TemporaryWorkspace;
  let policy: ToolCallPolicy;
  beforeAll(() => {
    workspace = temporaryWorkspace();
    mkdirSync(join(workspace.root, '.ssh'));
    for (const [name, text] of Object.entries({ ...CERTIFICATES, ...SENSITIVE }))
      writeFileSync(join(workspace.root, name), text);
    policy = new ToolCallPolicy({ root: workspace.root, disk: realDisk });
  });
  afterAll(() => workspace.remove());
  const decide = (tool: string, params: object): string => policy.decide(tool, params).verdict.decision;

  it.each(Object.keys(CERTIFICATES))('is not sensitive: %s', (path) => {
    expect(decide('read_file', { path })).toBe('LOW');
    // The file is hidden from commands that run without approval, so a command that reads it needs an approval.
    expect(decide('execute_command', { command: 'cat', args: [path] })).toBe('MEDIUM');
    expect(decide('shell_exec', { command: `cat ${path}` })).toBe('MEDIUM');
  });

  it.each([...Object.keys(SENSITIVE), 'missing.pem'])('is not what this is: %s', (path) => {
    expect(decide('read_file', { path })).toBe('REJECT');
    expect(decide('execute_command', { command: 'cat', args: [path] })).toBe('REJECT');
    expect(decide('shell_exec', { command: `cat ${path}` })).toBe('REJECT');
  });

  it('is left to the runner, which has the disk, by the server; a name that speaks of a key is not', () => {
    const server = new ToolCallPolicy({ root: '/home/ann/project' });
    const outcome = (path: string): string => server.decide('read_file', { path }).verdict.decision;
    expect(['cert.pem', 'key.pem', 'cert.key', '.ssh/cert.pem'].map(outcome)).toEqual([
      'LOW',
      'REJECT',
      'REJECT',
      'REJECT',
    ]);
  });
});
