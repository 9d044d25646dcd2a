import { looseNameMatcher } from '../glob.ts';
import { sensitivePlaces } from '../sensitive-places.ts';
import { wordList } from '../word-list.ts';
import { foldName } from '../workspace-path.ts';

/** Names of sensitive files and directories, to try a pattern on: the examples of VA-2 and a few more. */
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

/** Names that patterns usually mean, to tell `*.json` (which also picks credentials.json) from `.env*`. */
const ordinaryNames =
  wordList(`README.md package.json config.json tsconfig.json index.js index.jsx app.ts app.tsx env.ts main.c main.h
  server.py data.csv notes.txt config.yml config.yaml config.toml style.css index.html build.sh app.log Makefile Dockerfile
  .gitignore .eslintrc .prettierrc schema.sql main.go lib.rs App.vue icon.svg pom.xml Main.java Main.kt a.rb x.patch`);

/**
 * `sensitive`: picks sensitive names and hardly anything else. `unclear`: picks both kinds. `ordinary`: everything
 * else, also `*` and `*.json`: where those read recursively, sensitive files are masked (VA-2).
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
  const folded = foldName(glob);
  return (
    sensitiveNames.some(looseNameMatcher(glob)) ||
    (folded !== glob && sensitiveNames.some(looseNameMatcher(folded)))
  );
};

const picksOrdinary = (glob: string): boolean => ordinaryNames.some(looseNameMatcher(glob));

/** `{a,b}` once, as some programs read it; without braces, or with nested ones, the pattern itself. */
function expandBraces(pattern: string): readonly string[] {
  const open = pattern.indexOf('{');
  const close = pattern.indexOf('}', open);
  if (open < 0 || close < 0 || close - open > 200) return [pattern];
  const choices = pattern.slice(open + 1, close).split(',', 20);
  return [pattern, ...choices.map((choice) => pattern.slice(0, open) + choice + pattern.slice(close + 1))];
}
