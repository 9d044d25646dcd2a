import { environmentName, type SettingName, secretSettings, settingNames, settings } from './config.ts';

/** `countersign serve --help`, made from the settings themselves. */
export function serveHelp(): string {
  const rows = settingNames.map((name) => {
    const about = wrap(settings[name].description ?? '', 72).join('\n      ');
    return `  ${environmentName(name)}${defaultWords(name)}\n      ${about}`;
  });
  return `countersign serve: the server alone; agents, people and runners connect to it

  countersign serve [--host HOST] [--port PORT] [--database FILE|URL] [--config FILE.json]

Options
  --host HOST         the same as COUNTERSIGN_HOST, and so on for the next two
  --port PORT
  --database WHERE
  --config FILE       settings by name in a JSON file, such as {"port": 4180}
  --print-config      print the configuration, secrets masked, and end
  --help

Settings, from the environment (or by name in the file; options win over the environment, and that over the file)
${rows.join('\n')}
`;
}

/** The table of docs/configuration.md; a test keeps it in step. */
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

const defaultWords = (name: SettingName): string => {
  if (secretSettings.has(name)) return '  (secret)';
  const value = defaultOf(name);
  return value === undefined ? '' : `  (default: ${value})`;
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
