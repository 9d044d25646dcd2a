import { languageCodes } from '../language.ts';
import { sayIn } from '../said.ts';

/** The texts of `countersign serve`. A translation that lacks one of them does not compile. */
export const englishServer = {
  listens: (address: string) => `Countersign listens on ${address}`,
  openThis: 'Open this to sign in (once, within 60 s):',
  another: 'Another link, for a second browser or editor: countersign serve --link',
  error: 'error',
  said: sayIn('en'),
  unexpected: (word: string) => `"${word}" is not expected here`,
  noLanguage: (word: string) => `"${word}" is not a language of ours: there are ${languageCodes('and')}`,
  linkNeedsLoopback: (host: string) =>
    `A sign-in link is for this machine only, and ${host} can be reached by others. Make a token instead: --token-for PERSON`,
  linkNeedsPort: 'Name the port of the server that runs: --port PORT',
  noServer: (address: string, why: string) =>
    `No server answers at ${address} (${why}). Start it, or name the --port, --database and --config that it was started with`,
  noSecret:
    'The server with that database keeps no secret here. Name the --database or --config that it was started with',
  badPerson: 'Who is the token for? A name without spaces, in letters of ASCII, at most 200',
  badDays: (text: string) => `--days ${text} is no number of days from 1 to 366`,
  tokenMade: (person: string, until: string) =>
    `A token for ${person}, until ${until}. It is shown this once. They paste it on the page, in their editor, or at: countersign sign-in --server URL`,
  audit: {
    whole: (user: string, rows: number, head: string) => `ok      ${user}: ${rows} rows, head ${head}`,
    broken: (user: string, row: number, problem: string) => `BROKEN  ${user}: row ${row}. ${problem}`,
    empty: 'The audit log is empty.',
  },
  default: (value: string) => `default: ${value}`,
  secret: 'secret',
  /** Descriptions of settings, by name. Without one, the description in config.ts is shown. */
  settings: {} as Readonly<Record<string, string | undefined>>,
  help: {
    about: 'the server alone; agents, people and runners connect to it',
    usage: `countersign serve [--host HOST] [--port PORT] [--database FILE|URL] [--config FILE.json]
countersign serve --link  another sign-in link of the server that runs here, for a second browser or editor
countersign serve --token-for PERSON  a token for a second person or another machine; it is printed once`,
    options: {
      host: 'HOST  the same as COUNTERSIGN_HOST, and so on for the next three',
      port: 'PORT  ',
      database: 'WHERE  ',
      'policy-file': 'FILE  ',
      config: 'FILE  settings by name in a JSON file, such as {"port": 4180}',
      'print-config': 'print the configuration, secrets masked, and end',
      link: 'with the options that the server was started with; the link is good once, for 60 s',
      'token-for':
        'PERSON  the same, where it runs or wherever its authSecret is set; whoever has the token is that person',
      days: 'N  how long the token works (default 30, at most 366)',
      lang: `LANG  ${languageCodes('or')}`,
      help: 'this text',
    },
  },
  optionsTitle: 'Options',
  settingsTitle:
    'Settings, from the environment (or by name in the file; options win over the environment, and that over the file)',
};
