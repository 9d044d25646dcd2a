import { AgentFixture, settle } from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import { manualModel } from './manual-model.ts';

const file = (content: string) => ({
  status: 'completed' as const,
  result: { success: true, content, encoding: 'utf-8', size: content.length, truncated: false },
});

async function open(tools: Parameters<typeof AgentFixture.open>[0]['tools'] = {}) {
  const agent = await AgentFixture.open({ model: manualModel, tools });
  return {
    agent,
    async answerTo(typed: string): Promise<string> {
      await agent.say(typed);
      await settle();
      const last = (await agent.messages()).at(-1);
      return `${last?.role}: ${last?.content}`;
    },
  };
}

describe('the manual model', () => {
  it('[AG-1] makes the call that was typed, and shows its result', async () => {
    const { agent, answerTo } = await open({ read_file: () => file('# Hello\n\nworld\n') });
    expect(await answerTo('/read_file path=README.md')).toBe(
      'assistant: read_file: 15 bytes\n```\n# Hello\n\nworld\n```',
    );
    expect(agent.runner.executed).toMatchObject([{ tool: 'read_file', params: { path: 'README.md' } }]);
  });

  it('[AG-1] runs commands, after an approval where one is needed', async () => {
    const { agent, answerTo } = await open({
      execute_command: () => ({
        status: 'completed',
        result: { success: true, stdout: '12 passed\n', stderr: '', exit_code: 0, execution_time: 1 },
      }),
    });
    expect(await answerTo('/run npm test')).toBe(
      'assistant: execute_command: exit code 0\n```\n12 passed\n```',
    );
    expect(agent.runner.executed[0]?.params).toMatchObject({ command: 'npm', args: ['test'] });
    agent.runner.decide = () => ({ reject: { reason: 'No.', message: 'Later.' } });
    expect(await answerTo('/run npm install')).toBe('assistant: execute_command: rejected. No. Later.');
    agent.runner.decide = () => ({ reject: { reason: 'User declined', message: 'use yarn' } });
    expect(await answerTo('/run npm install')).toBe(
      'assistant: execute_command: rejected. User declined: use yarn',
    );
  });

  it('[AG-1] takes several lines as several calls of one step, and JSON over several lines', async () => {
    const { agent, answerTo } = await open({
      read_file: ({ path }) => file(`content of ${path}`),
      list_directory: () => ({
        status: 'completed',
        result: { success: true, files: [{ path: 'a.md' }, { path: 'b.md' }], total_count: 2 },
      }),
    });
    expect(
      await answerTo('/read_file path=a.md\n/read_file {\n  "path": "b.md"\n}\n/list_directory path=.'),
    ).toBe(
      'assistant: read_file: 15 bytes\n```\ncontent of a.md\n```\n\nread_file: 15 bytes\n```\ncontent of b.md\n```\n\nlist_directory: 2 files\n```\na.md\nb.md\n```',
    );
    expect((await agent.run((await agent.messages())[0]?.run_id as string)).step).toBe(2);
  });

  it('[AG-1] shows failures with their code and what there was', async () => {
    const { answerTo } = await open({
      execute_command: () => ({
        status: 'failed',
        error: { code: 'COMMAND_TIMEOUT', message: 'npm was stopped.', recoverable: true },
        result: { success: false, stdout: '', stderr: 'boom', exit_code: null },
      }),
      git_status: () => ({ status: 'completed', result: { success: true, branch: 'main' } }),
      create_directory: () => ({ status: 'completed', result: { success: true } }),
      shell_exec: () => ({ status: 'completed', result: 'plain' }),
    });
    expect(await answerTo('/run npm test')).toBe(
      'assistant: execute_command: failed. npm was stopped. (COMMAND_TIMEOUT)\nexit code null\n```\nboom\n```',
    );
    expect(await answerTo('/run rm x')).toMatch(
      /^assistant: execute_command: failed\. Command not allowed: rm\..*\(COMMAND_NOT_ALLOWED\)$/,
    );
    expect(await answerTo('/git_status')).toBe('assistant: git_status:\n```\n{\n  "branch": "main"\n}\n```');
    expect(await answerTo('/create_directory path=x')).toBe('assistant: create_directory: done');
  });

  it('[AG-1] cuts a long result', async () => {
    const { answerTo } = await open({ read_file: () => file('line\n'.repeat(100)) });
    const answer = await answerTo('/read_file path=long.txt');
    expect(answer.split('\n')).toHaveLength(44);
    expect(answer).toMatch(/\n… \(300 more characters\)$/);
  });

  it.each([
    ['/', 'I made no call.\n\n/\nName a tool. Type /help to see how it is used.'],
    [
      '/read_file README.md',
      'I made no call.\n\n/read_file README.md\n"README.md" is not NAME=VALUE. Type /help to see how it is used.',
    ],
    [
      '/read_file path="a',
      'I made no call.\n\n/read_file path="a\nA " is not closed. Type /help to see how it is used.',
    ],
    [
      '/read_file path=a path=b',
      'I made no call.\n\n/read_file path=a path=b\n"path" is given twice. Type /help to see how it is used.',
    ],
    [
      '/launch now=1',
      expect.stringMatching(/There is no tool "launch" that you can use here\. There are\n\/read_file {2}/),
    ],
    [
      '/remove_file path=a',
      expect.stringMatching(/Did you mean one of these\?\n\/read_file {2}\/write_file {2}\/edit_file/),
    ],
  ])('[AG-1] answers %j with what is wrong, and makes no call', async (typed, answer) => {
    const { agent } = await open();
    await agent.say(`/git_status\n${typed}`);
    expect(agent.runner.executed).toEqual([]);
    const alone = await open();
    await alone.agent.say(typed);
    expect((await alone.agent.messages()).at(-1)?.content).toEqual(answer);
  });

  it('[AG-1] explains what can be typed, and each tool', async () => {
    const { answerTo } = await open();
    expect(await answerTo('Please fix the tests')).toMatch(
      /No language model is configured.*\/read_file path=README\.md.*Tools: read_file, /s,
    );
    expect(await answerTo('/help')).toMatch(/No language model is configured/);
    expect(await answerTo('/help read_file')).toBe(
      'assistant: /read_file: Read a file of the workspace, at most 1 MiB at a time: text whole or a range of lines; PDF files and images as base64. Read what is longer, also a single long line, in parts of bytes by offset and length. Other binary files are refused.\n' +
        '  path (string): The file, relative to the workspace root.\n' +
        '  start_line (integer, optional): First line to return, counted from 1.\n' +
        '  end_line (integer, optional): Last line to return, included.\n' +
        '  offset (integer, optional): First byte to return, counted from 0. Not together with lines.\n' +
        '  length (integer, optional): How many bytes to return, at most 1 MiB; to the end of the file when missing.\n' +
        '  encoding (string, optional): Only when it cannot be told from the file.',
    );
    expect(await answerTo('/help run')).toMatch(
      /^assistant: \/execute_command: .*timeout \(integer, 30 if left out\)/s,
    );
    expect(await answerTo('/help nothing')).toMatch(/There is no tool "nothing"/);
    expect(await answerTo('/helpless path=a')).toMatch(/There is no tool "helpless"/);
  });

  it.each([['/git_status\n/help read_file'], ['/help read_file\n/git_status']])(
    '[AG-1] explains the tool of %j among calls, and makes none of them',
    async (typed) => {
      const { agent, answerTo } = await open();
      expect(await answerTo(typed)).toMatch(
        /^assistant: I made no call: .*\n\n\/read_file: Read a file .*\n {2}path /s,
      );
      expect(agent.runner.executed).toEqual([]);
    },
  );
});
