import { looseNameMatcher } from '../glob.ts';
import { sensitivePlaces } from '../sensitive-places.ts';
import { wordList } from '../text.ts';
import { foldName } from '../workspace-path.ts';

/** Names of sensitive files and directories to test patterns on: the examples of VA-2 and a few more. */
const sensitiveNames: readonly string[] = [
  ...new Set(
    [
      ...sensitivePlaces.places.flatMap(({ matches, names = [], directories = [] }) => [
        ...matches,
        ...names,
        ...directories,
      ]),
      ...wordList(`.env.development .env.test .env.staging .env.prod .env.dev id_rsa id_ed25519 id_dsa key.pem private.pem
        private.key cert.p12 keystore.jks passwords.kdbx`),
    ]
      .flatMap((path) => path.split('/'))
      .filter((name) => sensitivePlaces.find(name) !== undefined),
  ),
];

/** Ordinary names to test patterns on. `*.json` picks some of them besides credentials.json; `.env*` picks none. */
const ordinaryNames =
  wordList(`README.md package.json config.json tsconfig.json index.js index.jsx app.ts app.tsx env.ts main.c main.h
  server.py data.csv notes.txt config.yml config.yaml config.toml style.css index.html build.sh app.log Makefile Dockerfile
  .gitignore .eslintrc .prettierrc schema.sql main.go lib.rs App.vue icon.svg pom.xml Main.java Main.kt a.rb x.patch`);

/**
 * `sensitive`: picks sensitive names and hardly anything else. `unclear`: picks both kinds. `ordinary`: all other patterns,
 * and also `*` and `*.json`, because sensitive files are masked when a command reads recursively (VA-2).
 */
export function judgeGlob(pattern: string): 'sensitive' | 'unclear' | 'ordinary' {
  const variants = expandBraces(pattern.slice(pattern.lastIndexOf('/') + 1));
  const directories = pattern.includes('/') ? pattern.split('/').slice(0, -1) : [];
  if (directories.some((part) => picksSensitive(part) && !picksOrdinary(part))) return 'sensitive';
  let worst: 'unclear' | 'ordinary' = 'ordinary';
  for (const name of variants) {
    if (!picksSensitive(name)) continue;
    if (!picksOrdinary(name)) return 'sensitive';
    if (name !== '*' && name !== '**' && !name.startsWith('*.')) worst = 'unclear';
  }
  return worst;
}

const picksSensitive = (glob: string): boolean => {
  if (!/[*?[\\]/.test(glob)) return glob !== '' && sensitivePlaces.find(glob) !== undefined;
  return [...new Set([glob, foldName(glob)])].some((each) => sensitiveNames.some(looseNameMatcher(each)));
};

const picksOrdinary = (glob: string): boolean => ordinaryNames.some(looseNameMatcher(glob));

/** Expands the first `{a,b}`, as some programs do. The pattern itself is always included. */
function expandBraces(pattern: string): readonly string[] {
  const open = pattern.indexOf('{');
  const close = pattern.indexOf('}', open);
  if (open < 0 || close < 0 || close - open > 200) return [pattern];
  const choices = pattern.slice(open + 1, close).split(',', 20);
  return [pattern, ...choices.map((choice) => pattern.slice(0, open) + choice + pattern.slice(close + 1))];
}

/** Whether a pattern of -name or -path picks sensitive files and hardly anything else. */
export function picksSecretsByName(pattern: string): boolean {
  if (judgeGlob(pattern) !== 'sensitive') return false;
  // `*key*` and `*token*` also match ordinary names; `*npmrc*` does not.
  const word = /^\*([\w-]+)\*$/.exec(pattern)?.[1];
  if (word === undefined) return true;
  return sensitivePlaces.find(word) !== undefined || sensitivePlaces.find(`.${word}`) !== undefined;
}

/** Whether a regular expression, in any of find's dialects, picks sensitive files. It is only parsed, never run. */
export function picksSecretsByRegex(pattern: string): boolean {
  const globs = toGlobs(pattern);
  // Too many alternatives to follow: assume that it picks secrets.
  return globs === undefined || globs.some(picksSecretsByName);
}

const MAX_GLOBS = 64;
const MAX_CHARACTERS = 1_000;

/**
 * The shell patterns that together match at least what the expression matches; undefined when they are too many.
 * `\\(` and `(` both open a group and `\\|` and `|` both separate, because the dialect is not known.
 */
function toGlobs(pattern: string): readonly string[] | undefined {
  if (pattern.length > MAX_CHARACTERS) return undefined;
  const text = pattern.replace(/\\([()|{}+?])/g, '$1');
  // For each open group: the globs before it (`before`) and the finished alternatives around it (`done`).
  const outer: { before: string[]; done: string[] }[] = [];
  let done: string[] = [];
  let open: string[] = [''];
  let lastAtom: string[] = [''];
  const append = (atom: string): void => {
    lastAtom = open;
    open = open.map((glob) => glob + atom);
  };
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string;
    if (character === '(') {
      outer.push({ before: open, done });
      done = [];
      open = [''];
      lastAtom = open;
    } else if (character === ')') {
      const group = outer.pop();
      if (!group) continue;
      const choices = [...done, ...open];
      lastAtom = group.before;
      open = group.before.flatMap((glob) => choices.map((choice) => glob + choice));
      done = group.done;
    } else if (character === '|') {
      done = [...done, ...open];
      open = [''];
    } else if (character === '*' || character === '+' || character === '?') {
      open = lastAtom.map((glob) => `${glob}*`);
    } else if (character === '{') {
      const end = text.indexOf('}', at);
      at = end < 0 ? text.length : end;
      open = lastAtom.map((glob) => `${glob}*`);
    } else if (character === '.') append('?');
    else if (character === '[') {
      const end = text.indexOf(']', at + 2);
      append(end < 0 ? '*' : text.slice(at, end + 1));
      if (end >= 0) at = end;
    } else if (character === '\\') {
      at++;
      append(text[at] ?? '');
    } else if (character !== '^' && character !== '$') append(character);
    if (open.length + done.length > MAX_GLOBS) return undefined;
  }
  while (outer.length > 0) {
    const group = outer.pop() as { before: string[]; done: string[] };
    open = [...done, ...open];
    done = group.done;
    open = group.before.flatMap((glob) => open.map((choice) => glob + choice)).slice(0, MAX_GLOBS);
  }
  return [...done, ...open];
}
