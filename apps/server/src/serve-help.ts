import { helpText } from '@countersign/words';
import { environmentName, type SettingName, secretSettings, settingNames, settings } from './config.ts';
import type { ServerWords } from './words.ts';

/** The text of `countersign serve --help`, made from the settings, for a screen of this width. */
export function serveHelp(words: ServerWords, columns = 80): string {
  const rows = settingNames.map((name) => {
    const about = wrap(
      words.settings[name] ?? settings[name].description ?? '',
      Math.min(columns - 8, 72),
    ).join('\n      ');
    return `  ${environmentName(name)}${defaultWords(name, words)}\n      ${about}`;
  });
  const end = `${words.settingsTitle}\n${rows.join('\n')}`;
  return helpText('countersign serve', { ...words.help, end }, words.optionsTitle);
}

/** The table in docs/configuration.md; a test compares them. */
export function settingsTable(): string {
  const rows = settingNames.map((name) => {
    const cells = [
      `\`${name}\``,
      `\`${environmentName(name)}\``,
      defaultCell(name),
      settings[name].description ?? '',
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '| name in a file | in the environment | default | what it is for |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

function defaultOf(name: SettingName): string | undefined {
  const parsed = settings[name].safeParse(undefined);
  const value: unknown = parsed.success ? parsed.data : undefined;
  if (value === undefined) return undefined;
  return Array.isArray(value) ? value.join(',') || undefined : String(value);
}

const defaultCell = (name: SettingName): string => {
  const value = defaultOf(name);
  return value === undefined ? 'none' : `\`${value}\``;
};

const defaultWords = (name: SettingName, words: ServerWords): string => {
  if (secretSettings.has(name)) return `  (${words.secret})`;
  const value = defaultOf(name);
  return value === undefined ? '' : `  (${words.default(value)})`;
};

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || line.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}
