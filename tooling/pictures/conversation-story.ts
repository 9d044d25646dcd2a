import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAiCompatibleServer, WireStep } from '@countersign/testing';
import type { WebHome } from '../../tests/e2e/src/web/web-home.ts';
import { attentionMs, type WebWindow } from '../../tests/e2e/src/web/web-window.ts';
import type { RemotePerson } from '../../tests/lab/src/remote-person.ts';

const testFile = `
for (let i = 0; i < 30; i += 1) console.log('  \\u001b[32m✓\\u001b[0m case ' + i);
console.log('  \\u001b[31m✗ adds numbers\\u001b[0m');
console.log('    AssertionError: expected 3, got 4');
process.exit(1);
`;
const source = `/** Greets people. */
export function greet(name: string, loud = false): string {
  const text = \`Helo, \${name}!\`;
  return loud ? text.toUpperCase() : text;
}

export const port = 8000;
`;

/** The workspace of the story. */
export const files = {
  'app.ts': source,
  'test.js': testFile,
  'notes.md': '# Notes\n\n- [ ] fix the greeting\n',
  'package.json': '{ "name": "greetings", "type": "module" }\n',
};

const call = (name: string, args: object, id: string): WireStep => ({ call: { name, args, id } });
const write = (path: string, content = `# ${path}\n\nOne line.\n`) =>
  call('write_file', { path, content }, path);
const run = (command: string, ...args: string[]) =>
  call('execute_command', { command, args }, `run ${args.join(' ')}`);
const edit = call('edit_file', { path: 'app.ts', old: 'Helo', new: 'Hello' }, 'edit');

const answer = `The greeting is fixed. What changed:

| file | change |
| --- | --- |
| \`app.ts\` | \`Helo\` → \`Hello\` |

\`\`\`ts
export const greet = (name: string) => \`Hello, \${name}!\`;
\`\`\`

1. Run the tests with **npm test**.
2. Then commit.
`;

/** One person's way through the product. Their decisions go over REST, so that the story also runs in an older checkout. */
export class ConversationStory {
  readonly home: WebHome;
  readonly window: WebWindow;
  readonly model: OpenAiCompatibleServer;
  #person: RemotePerson | undefined;
  /** What the model still does, by the first message of each conversation: an earlier one may not have ended yet. */
  readonly #steps = new Map<string, (readonly WireStep[])[]>();

  constructor(home: WebHome, window: WebWindow, model: OpenAiCompatibleServer) {
    this.home = home;
    this.window = window;
    this.model = model;
    model.script(({ body }) => {
      const asked = JSON.stringify(body.messages.find(({ role }) => role === 'user')?.content);
      const steps = [...this.#steps].find(([text]) => asked.includes(text))?.[1];
      return steps?.shift() ?? [{ text: 'Nothing more.' }];
    });
  }

  get page() {
    return this.window.page;
  }

  get person(): RemotePerson {
    if (!this.#person) throw new Error('The story has not begun');
    return this.#person;
  }

  async begin(): Promise<void> {
    this.page.setDefaultTimeout(8_000);
    await this.window.composer.waitFor();
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@localhost', ...args], {
        cwd: this.home.ready.workspace,
      });
    git('init', '-q');
    git('add', '.');
    git('commit', '-q', '-m', 'Say hello');
    this.#person = await this.home.person();
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.home.ready.workspace, path), text);
  }

  /** A new conversation with a message, and what the model then does, step by step. */
  async tell(text: string, ...steps: (readonly WireStep[])[]): Promise<void> {
    this.#steps.set(text, [...steps]);
    await this.window.go('chat');
    await this.page.reload();
    await this.window.composer.fill(text);
    await this.page.keyboard.press('Enter');
  }

  async waiting(count: number): Promise<void> {
    await this.window.waiting.nth(count - 1).waitFor();
    await this.page.locator('.waiting-line').first().waitFor({ state: 'detached' });
    await this.window.wait(attentionMs);
  }

  /** Approves what waits. */
  async approve(count = 1): Promise<void> {
    await this.waiting(count);
    const { approvals } = await this.person.client.listApprovals();
    for (const { approval_id, project_id, digest, risk_level } of approvals) {
      const body = { ...(digest !== null && { digest }), ...(risk_level === 'HIGH' && { confirm: true }) };
      await this.person.client.approve({ params: { approval_id, project_id }, body });
    }
  }

  async said(text: string): Promise<void> {
    await this.window.transcript.getByText(text).first().waitFor();
    await this.window.wait(attentionMs);
  }

  /** Leaves nothing waiting for the next state. */
  async endState(): Promise<void> {
    await this.page.keyboard.press('Escape');
    for (let open = true; open; ) {
      const { approvals } = await this.person.client.listApprovals();
      for (const { approval_id, project_id } of approvals)
        await this.person.client.reject({ params: { approval_id, project_id }, body: {} }).catch(() => {});
      open = approvals.length > 0;
    }
  }
}

type State = (story: ConversationStory) => Promise<void>;

const said = (text: string): readonly WireStep[] => [{ text }];

/** Every state, in the order in which the story comes to them. */
export const states: Readonly<Record<string, State>> = {
  '01 empty': async (story) => {
    await story.window.go('chat');
    await story.window.composer.waitFor();
  },
  '02 inbox empty': async (story) => {
    await story.window.go('approvals');
    await story.page.locator('main').waitFor();
    await story.window.wait(attentionMs);
  },
  '03 history empty': async (story) => {
    await story.window.go('history');
    await story.window.wait(attentionMs);
  },
  '10 card edit': async (story) => {
    await story.tell(
      'Correct the typo',
      [{ text: 'I fix the typo in the greeting.' }, edit],
      said('Not fixed.'),
    );
    await story.waiting(1);
  },
  '11 card long': async (story) => {
    const long = Array.from({ length: 120 }, (_, n) => `export const value${n} = ${n};`).join('\n');
    await story.tell('Write the values', [write('values.ts', `${long}\n`)], said('Not written.'));
    await story.waiting(1);
  },
  '12 card shell': async (story) => {
    const line = 'npm ci && npm test | tee out.txt > log.txt && git push origin main';
    await story.tell('Test and push', [call('shell_exec', { command: line }, 'shell')], said('Not pushed.'));
    await story.waiting(1);
  },
  '13 card high second step': async (story) => {
    await story.tell(
      'Remove the notes',
      [call('delete_file', { path: 'notes.md' }, 'delete')],
      said('Kept.'),
    );
    await story.waiting(1);
    await story.window.waiting.first().focus();
    await story.window.wait(attentionMs);
    await story.page.keyboard.press('y');
  },
  '14 card reject': async (story) => {
    await story.tell('Mend it', [edit], said('Not fixed.'));
    await story.waiting(1);
    await story.window.waiting.first().focus();
    await story.window.wait(attentionMs);
    await story.page.keyboard.press('n');
    await story.page.keyboard.type('Fix the port instead');
  },
  '15 card edit first': async (story) => {
    await story.tell('Run the tests', [run('node', 'test.js')], said('Not run.'));
    await story.waiting(1);
    await story.window.waiting.first().focus();
    await story.window.wait(attentionMs);
    await story.page.keyboard.press('e');
  },
  '16 card remember': async (story) => {
    await story.tell('Test it again', [run('node', 'test.js')], said('Not run.'));
    await story.waiting(1);
    await story.window.waiting.first().focus();
    await story.window.wait(attentionMs);
    await story.page.keyboard.press('a');
  },
  '17 card npm': async (story) => {
    await story.tell('Install', [run('npm', 'install', 'left-pad')], said('Not installed.'));
    await story.waiting(1);
  },
  '20 five of one step': async (story) => {
    const five = ['one', 'two', 'three', 'four', 'five'].map((name) => write(`${name}.md`));
    await story.tell('Write five files', [{ text: 'I write five files.' }, ...five], said('None written.'));
    await story.waiting(5);
  },
  '21 inbox with five': async (story) => {
    const five = ['one', 'two', 'three', 'four', 'five'].map((name) => write(`${name}.md`));
    await story.tell('Create five files', five, said('None written.'));
    await story.waiting(5);
    await story.window.go('approvals');
    await story.waiting(5);
  },
  '30 decided and failed test': async (story) => {
    await story.tell(
      'Fix the greeting and run the tests',
      [{ text: 'I look at the file first.' }, call('read_file', { path: 'app.ts' }, 'read')],
      [edit],
      [run('node', 'test.js')],
      [{ text: answer }],
    );
    await story.approve();
    await story.window.waiting.filter({ hasText: 'test.js' }).waitFor();
    await story.approve();
    await story.said('The greeting is fixed.');
  },
  '31 the same, reloaded': async (story) => {
    await story.page.reload();
    await story.said('The greeting is fixed.');
    await story.window.transcript.evaluate((box) => box.scrollTo(0, 0));
  },
  '32 row unfolded': async (story) => {
    await story.window.toggle('app.ts').last().click();
    await story.window.wait(attentionMs);
  },
  '33 run summary': async (story) => {
    await story.window.toggle('app.ts').last().click();
    await story.page.locator('.run-summary-title').click();
    await story.page.locator('.run-file-name').first().click();
    await story.window.wait(attentionMs);
  },
  '34 rewind': async (story) => {
    const message = story.page.locator('.message-user').first();
    await message.hover();
    await message.getByRole('button', { name: 'Actions for this message' }).click();
    await story.page.getByRole('menuitem', { name: 'Rewind to before this…' }).click();
    await story.page.getByRole('dialog').getByText('app.ts').waitFor();
  },
  '35 results': async (story) => {
    story.write('app.ts', source.replace('Helo', 'Hello').replace('8000', '8080'));
    story.write('later.ts', 'export {};\n');
    await story.tell(
      'Look around',
      [
        call('git_status', {}, 'status'),
        call('git_diff', {}, 'diff'),
        call('git_log', {}, 'log'),
        call('list_directory', { path: '.' }, 'list'),
        call('search_files', { content: 'export' }, 'search'),
        call('read_file', { path: '../outside.txt' }, 'outside'),
        call('symbols', { path: 'app.ts' }, 'symbols'),
        call('read_file', { path: 'missing.ts' }, 'missing'),
      ],
      said('That is what there is.'),
    );
    await story.said('That is what there is.');
  },
  '36 results unfolded, first': async (story) => {
    for (const name of [/Compared with git|diff/i, /git status/i, /git log/i])
      await story.window.toggle(name).first().click();
    await story.window.transcript.evaluate((box) => box.scrollTo(0, 0));
    await story.window.wait(attentionMs);
  },
  '37 results unfolded, second': async (story) => {
    for (const name of [/^Searched/, /^Listed the project/, /symbols/i])
      await story.window.toggle(name).first().click();
    await story.window.transcript.evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await story.window.wait(attentionMs);
  },
  '40 queued': async (story) => {
    await story.tell('Begin', [{ wait: 4_000 }, { text: 'Begun.' }], said('Both done.'), said('More.'));
    await story.page.getByRole('button', { name: 'Stop' }).waitFor();
    await story.window.composer.fill('and then tidy up the tests');
    await story.page.keyboard.press('Enter');
    await story.page.locator('.queued').first().waitFor();
    await story.window.composer.fill('one more');
  },
  '41 stopped with a queue': async (story) => {
    await story.tell('Write two', [write('one.md'), write('two.md')], said('Done.'), said('More.'));
    await story.waiting(1);
    await story.window.composer.fill('and then tidy up');
    await story.page.keyboard.press('Enter');
    await story.page.locator('.queued').first().waitFor();
    await story.page.getByRole('button', { name: 'Stop' }).click();
    await story.said('You stopped this run');
  },
  '42 mode': async (story) => {
    await story.tell('Hello', said('Hello, what shall I do?'));
    await story.said('Hello, what shall I do?');
    await story.page.getByRole('combobox', { name: 'Mode' }).selectOption('Accept edits');
    await story.window.wait(1_000);
  },
  '50 history': async (story) => {
    await story.window.go('history');
    await story.page.locator('table').waitFor();
    await story.window.wait(attentionMs);
  },
  '51 call': async (story) => {
    await story.page.locator('tbody a').first().click();
    await story.window.wait(attentionMs);
  },
  '52 metrics': async (story) => {
    await story.window.go('metrics');
    await story.window.wait(1_000);
  },
  '53 rules': async (story) => {
    await story.window.go('permissions');
    await story.window.wait(attentionMs);
  },
  '54 runners': async (story) => {
    await story.window.go('runners');
    await story.window.wait(attentionMs);
  },
  '55 keys': async (story) => {
    await story.window.blur();
    await story.page.keyboard.press('?');
    await story.window.wait(attentionMs);
  },
};
