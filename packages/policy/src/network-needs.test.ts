import { describe, expect, it } from 'vitest';
import { networkNeeds } from './network-needs.ts';
import { readPolicyFile } from './policy-rules.ts';
import { ToolCallPolicy } from './tool-call-policy.ts';
import { isRefused } from './verdict.ts';

const policy = new ToolCallPolicy({ root: '/workspace', home: '/home/ann' });
function needsOf(tool: string, params: object): unknown {
  const { verdict, call, details } = policy.decide(tool, params);
  if (isRefused(verdict) || call === undefined || !details) return verdict;
  return verdict.network && networkNeeds(call, details.commands);
}
const none = { anyHost: false, hosts: [], sources: [], remotes: [] };

describe('[RN-5] the network that a shell line needs', () => {
  it.each<[string, object | false]>([
    ['npm ci && npm test', { sources: ['npm'] }],
    ['cd app && pnpm install; yarn add x', { sources: ['npm'] }],
    ['pip install -r requirements.txt', { sources: ['pip'] }],
    [
      'uv sync && cargo fetch && go mod download && bundle install',
      { sources: ['pip', 'cargo', 'go', 'gem'] },
    ],
    ['mvn -q verify', { sources: ['maven'] }],
    ['curl -fsSL https://API.example.org:8443/x -o x.json', { hosts: ['api.example.org:8443'] }],
    ['curl https://ann:pw@a.example/x http://b.example', { hosts: ['a.example', 'b.example'] }],
    ['pip install git+https://git.example/x.git', { sources: ['pip'], hosts: ['git.example'] }],
    ['git clone https://git.example/x.git', { hosts: ['git.example'] }],
    ['git fetch && git pull --rebase origin main', { remotes: ['', 'origin'] }],
    ['git fetch https://git.example/x.git main', { hosts: ['git.example'] }],
    ['git -C sub fetch; git -c remote.origin.url=https://evil.example fetch', { hosts: ['evil.example'] }],
    ['curl "$URL"', {}],
    ['curl http://localhost:3000', false],
    ['curl -L http://localhost:3000', {}],
    ['docker pull x', {}],
    ['echo https://a.example; grep https://b.example README.md', false],
    ['npm test', false],
  ])('%s', (command, needs) => {
    expect(needsOf('shell_exec', { command })).toEqual(needs && { ...none, ...needs });
  });

  it('is also what the call asks for', () => {
    const network = ['a.example', 'b.example:8443'];
    expect(needsOf('shell_exec', { command: 'make', network })).toEqual({ ...none, hosts: network });
    expect(needsOf('shell_exec', { command: 'make', network: true })).toEqual({ ...none, anyHost: true });
    expect(needsOf('execute_command', { command: 'npm', args: ['ci'], network })).toEqual({
      ...none,
      hosts: network,
      sources: ['npm'],
    });
    expect(needsOf('execute_command', { command: 'python3', args: ['-m', 'pip', 'install', 'x'] })).toEqual({
      ...none,
      sources: ['pip'],
    });
  });
});

describe('[RN-5] a call that asks for network', () => {
  const decide = (params: object) => {
    const rule = { id: 'all', effect: 'allow', tool: '*', max_risk: 'HIGH' } as const;
    const reading = readPolicyFile(JSON.stringify({ version: 1, rules: [rule] }), 'person');
    if (!reading.ok) throw new Error(reading.problem);
    const own = new ToolCallPolicy({ root: '/workspace', policies: [reading.policy] });
    const { verdict, details } = own.decide('execute_command', { command: 'ls', ...params });
    return [verdict.decision, details?.needsPerson, verdict.reasons.at(-1)];
  };

  it('is MEDIUM at least, HIGH for any host, and only the person may approve it', () => {
    expect(decide({ network: ['a.example', 'b.example'] })).toEqual([
      'MEDIUM',
      true,
      { rule: 'NET-1', why: 'asks for network access', operand: 'a.example, b.example' },
    ]);
    expect(decide({ network: true })).toEqual([
      'HIGH',
      true,
      { rule: 'NET-2', why: 'asks for network access to any host' },
    ]);
    expect(decide({ network: false }).slice(0, 2)).toEqual(['LOW', false]);
  });
});
