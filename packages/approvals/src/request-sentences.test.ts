import { readdirSync, readFileSync } from 'node:fs';
import {
  changingToolsPattern,
  describeCall,
  gitCommandsPattern,
  type JsonValue,
  type Preview,
} from '@countersign/protocol';
import { approvalWords, languageNames } from '@countersign/words';
import { describe, expect, it } from 'vitest';
import { reasonText, scopeLabel, titleOf } from './request-sentences.ts';

const asked = { agent: 'Agent', description: 'Agent wants something', preview: null };
const previewOf = (operation: 'created' | 'modified'): Preview => ({
  kind: 'diff',
  files: [{ path: 'a.md', operation, diff: '', truncated: false, size_before: null, size_after: 1 }],
});

describe('the title of a card', () => {
  it.each([
    ['write_file', { path: 'a.md', mode: 'write' }, 'Агент хочет изменить a.md'],
    ['write_file', { path: 'a.md', mode: 'append' }, 'Агент хочет дописать в a.md'],
    ['execute_command', { command: 'git', args: ['log', 'a b'] }, 'Агент хочет выполнить git log "a b"'],
    [
      'shell_exec',
      { command: `echo\n${'x'.repeat(300)}` },
      `Агент хочет выполнить в оболочке echo ${'x'.repeat(154)}…`,
    ],
    ['git_push', { remote: 'theirs', branch: 'main' }, 'Агент хочет отправить изменения: theirs main'],
    ['git_push', {}, 'Агент хочет отправить изменения: origin'],
    ['git_commit', { message: 'fix', files: ['a', 'b'] }, 'Агент хочет сделать коммит (файлов: 2): fix'],
    ['constructor', { path: 'a.md' }, 'Agent wants something'],
    ['write_file', {}, 'Agent wants something'], // did not fit into the event, and is being fetched
  ])('%s %j', (tool_name, tool_params, title) => {
    expect(titleOf({ ...asked, tool_name, tool_params }, approvalWords.ru)).toBe(title);
    expect(titleOf({ ...asked, tool_name, tool_params }, approvalWords.en)).toBe('Agent wants something');
  });

  it('[AP-1] says that a file is new once a preview knows it (founding documents: tools-specification)', () => {
    const titled = (preview: Preview, mode = 'write') =>
      titleOf(
        { ...asked, tool_name: 'write_file', tool_params: { path: 'a.md', mode }, preview },
        approvalWords.ru,
      );
    expect(titled(previewOf('modified'))).toBe('Агент хочет изменить a.md');
    expect(titled(previewOf('created'))).toBe('Агент хочет создать a.md');
    expect(titled(previewOf('created'), 'append')).toBe('Агент хочет создать a.md');
  });

  it('keeps the name of an agent that has one', () => {
    const claude = { ...asked, agent: 'Claude', tool_name: 'edit_file', tool_params: { path: 'a.md' } };
    expect(titleOf(claude, approvalWords.ru)).toBe('Claude хочет изменить a.md');
    expect(titleOf({ ...claude, agent: 'Person' }, approvalWords.ru)).toBe('Человек хочет изменить a.md');
  });

  it('[AP-7] names what hides in the name of an agent, and cuts it', () => {
    const call = { ...asked, tool_name: 'edit_file', tool_params: { path: 'a.md' } };
    expect(titleOf({ ...call, agent: 'Zed\u202e\n!' }, approvalWords.ru)).toBe(
      'Zed⟨U+202E⟩ ! хочет изменить a.md',
    );
    expect(titleOf({ ...call, agent: 'x'.repeat(50) }, approvalWords.ru)).toBe(
      `${'x'.repeat(40)} хочет изменить a.md`,
    );
  });

  it('[AP-1] cuts each value by itself: a long source does not hide the destination', () => {
    const tool_params = { source: `docs/${'s'.repeat(300)}`, dest: '.git/hooks/pre-commit' };
    expect(titleOf({ ...asked, tool_name: 'copy_file', tool_params }, approvalWords.ru)).toBe(
      `Агент хочет скопировать docs/${'s'.repeat(154)}… → .git/hooks/pre-commit`,
    );
  });
});

/** The params of each fixture, and the same with long texts. */
const fixtures = new URL('../../protocol/fixtures/tools/', import.meta.url);
const long = (value: JsonValue): JsonValue => (typeof value === 'string' ? value.padEnd(400, '-x') : value);
const calls = readdirSync(fixtures).flatMap((file) => {
  const { params } = JSON.parse(readFileSync(new URL(file, fixtures), 'utf8')) as {
    params: Record<string, JsonValue>[];
  };
  const longer = params.map((one) =>
    Object.fromEntries(Object.entries(one).map(([name, value]) => [name, long(value)])),
  );
  return [...params, ...longer].map((one) => [file.replace('.json', ''), one] as const);
});
const textsIn = (value: JsonValue): string[] => {
  if (typeof value === 'string') return [value.slice(0, 150)];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
};

describe.each(Object.keys(languageNames) as (keyof typeof languageNames)[])('a title in %s', (language) => {
  it.each(calls)('[AP-8] shows what the English shows of %s %.60j', (tool_name, tool_params) => {
    const description = describeCall('Claude Code', tool_name, tool_params);
    const call = { agent: 'Claude Code', tool_name, tool_params, description, preview: null };
    const title = titleOf(call, approvalWords[language]);
    for (const text of ['Claude Code', ...textsIn(tool_params)])
      if (description.includes(text)) expect(title).toContain(text);
    if (Array.isArray(tool_params.files) && /\d file/.test(description))
      expect(title).toContain(String(tool_params.files.length));
    expect(title).toContain(tool_name === 'git_push' && !tool_params.remote ? 'origin' : '');
  });

  it('has the verb that no agent may have in its name', () => {
    const { title, wants } = approvalWords[language];
    for (const text of Object.values(title)) expect(text).toMatch(new RegExp(`^\\{who\\} ${wants} `));
  });
});

it('the English verb is that of the server', () => {
  expect(describeCall('Agent', 'delete_file', { path: 'a' })).toBe(
    `Agent ${approvalWords.en.wants} delete a`,
  );
});

describe('[RK-3] a reason', () => {
  it('names what triggered it, though a word of the sentence is the same', () => {
    const why = 'executes a file; its content is what will happen';
    expect(reasonText({ why, operand: 'file' }, why)).toBe(`${why}: file`);
    expect(reasonText({ why, operand: 'file' }, 'выполняет файл')).toBe('выполняет файл: file');
  });

  it('does not repeat an operand that the sentence quotes', () => {
    const why = '"a/.env" is a sensitive file: environment file with secrets';
    expect(reasonText({ why, operand: 'a/.env' }, why)).toBe(why);
    expect(reasonText({ why }, why)).toBe(why);
  });
});

it.each([
  [
    'class',
    { tool: changingToolsPattern, path: 'drafts/b.md' },
    'Changes to drafts/b.md in this conversation',
  ],
  ['always', { tool: changingToolsPattern, path: 'drafts/b.md' }, 'Always: changes to drafts/b.md'],
  ['class', { tool: changingToolsPattern, path: 'drafts/**' }, 'Changes under drafts/ in this conversation'],
  ['class', { tool: 'delete_file', path: 'drafts/**' }, 'Deleting files under drafts/ in this conversation'],
  ['class', { tool: 'delete_file', path: './a.md' }, 'Deleting a.md in this conversation'],
  [
    'class',
    { tool: 'execute_command', command: 'git commit *' },
    'Harmless git commit commands in this conversation',
  ],
  [
    'class',
    { tool: gitCommandsPattern, command: 'git *' },
    'Harmless git commands, commits and new branches in this conversation',
  ],
  ['always', { tool: 'execute_command', command: 'npm test' }, 'Always: the command npm test'],
  ['class', { tool: 'git_push' }, 'All calls of git_push in this conversation'],
  ['session', { tool: '*' }, 'Whole conversation: every tool'],
] as const)('[AP-4] %s of %j is said once', (scope, rule, label) => {
  expect(scopeLabel({ offer: { scope, rules: [rule] } }, approvalWords.en)).toBe(label);
});

it('[AP-4] of several commands names each, and says where it applies', () => {
  const rules = [
    { tool: 'execute_command', command: 'npm run build *' },
    { tool: 'execute_command', command: 'npm test' },
  ];
  expect(scopeLabel({ offer: { scope: 'class', rules } }, approvalWords.en)).toBe(
    'Harmless npm run build commands and the command npm test in this conversation',
  );
  expect(scopeLabel({ offer: { scope: 'always', rules }, onlyHere: true }, approvalWords.en)).toBe(
    'Always in this project: harmless npm run build commands and the command npm test',
  );
});

it('[UI-1] in Russian too', () => {
  const label = (scope: 'class' | 'always', path: string) =>
    scopeLabel({ offer: { scope, rules: [{ tool: changingToolsPattern, path }] } }, approvalWords.ru);
  expect(label('class', 'drafts/**')).toBe('Изменения внутри drafts/ в этой беседе');
  expect(label('always', 'a.md')).toBe('Всегда: изменения a.md');
  const git = { tool: gitCommandsPattern, command: 'git *' };
  expect(scopeLabel({ offer: { scope: 'class', rules: [git] } }, approvalWords.ru)).toBe(
    'Безобидные команды git, коммиты и новые ветки в этой беседе',
  );
});
