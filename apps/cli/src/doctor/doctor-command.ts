import { type CommandContext, usageOf } from '../command-context.ts';
import { helpText, readOptions } from '../command-options.ts';
import { visible } from '../screen/paragraph.ts';
import { wrap } from '../screen/text-width.ts';
import { workspaceRoot } from '../sign-in/workspace-project.ts';
import { paints } from '../terminal.ts';
import type { Words } from '../words.ts';
import { type Check, examine } from './checks.ts';
import { addHiddenPrograms, hiddenPrograms } from './programs.ts';

/** `countersign doctor` (RN-2, RN-5). */
export async function doctorCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('doctor', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(helpText('doctor', words)).then(() => 0);
  if (positionals[1] !== undefined) throw usageOf('doctor')(words.unexpected(positionals[1]));
  const root = workspaceRoot(positionals[0]);
  // JSON is always in English, because programs compare the names.
  const told = values.json ? context.words('en') : words;
  if (values['add-programs']) return addPrograms({ root, env }, context, words, values.json);
  const checks = await examine({ root, server: values.server, words: told, env });
  const ok = checks.every(({ state }) => state !== 'missing');
  if (values.json)
    await terminal.write(
      `${JSON.stringify({ ok, workspace: root, checks, hidden_programs: hiddenPrograms({ root, env }) })}\n`,
    );
  else {
    const columns = terminal.screen?.columns ?? 110;
    const lines = checks.flatMap((check) => checkLines(check, columns, terminal.color));
    const paint = paints(terminal.color);
    const end = ok ? paint.green(words.doctor.allWell) : paint.red(words.doctor.notWell);
    await terminal.write(`${['', ...lines, '', `  ${end}`].join('\n')}\n`);
  }
  return ok ? 0 : 1;
}

/** `--add-programs` (RN-5). */
async function addPrograms(
  place: { readonly root: string; readonly env: CommandContext['env'] },
  { terminal }: CommandContext,
  { doctor }: Words,
  json: boolean,
): Promise<number> {
  const { file, offers } = addHiddenPrograms(place);
  const path = offers.flatMap((offer) => offer.path);
  const readable = offers.flatMap((offer) => offer.readable);
  if (json) await terminal.write(`${JSON.stringify({ file, path, readable })}\n`);
  else if (offers.length === 0) await terminal.write(`${doctor.nothingToAdd}\n`);
  else {
    const lines = [
      ...path.map((folder) => `  path      ${visible(folder)}`),
      ...readable.map((folder) => `  readable  ${visible(folder)}`),
    ];
    await terminal.write(`${[doctor.added(file), ...lines].join('\n')}\n`);
  }
  return 0;
}

const nameColumns = 20;

function checkLines({ name, state, says, remedy }: Check, columns: number, color: boolean): string[] {
  const paint = paints(color);
  const mark = { ok: paint.green('✓'), warning: paint.yellow('!'), missing: paint.red('✗') }[state];
  // In a narrow terminal, put the text below its name.
  const isNarrow = columns - nameColumns - 6 < 30;
  const indent = ' '.repeat(isNarrow ? 4 : nameColumns + 4);
  const room = columns - indent.length - 2;
  const told = wrap(visible(says), room);
  const [first = '', ...rest] = isNarrow ? ['', ...told] : told;
  return [
    `  ${mark} ${paint.bold(first === '' ? name : `${name.padEnd(nameColumns - 1)} `)}${first}`,
    ...rest.map((line) => `${indent}${line}`),
    ...(remedy === undefined
      ? []
      : wrap(`→ ${visible(remedy)}`, room).map((line) => indent + paint.cyan(line))),
  ];
}
