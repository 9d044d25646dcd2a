import { hasHole } from './marks.ts';
import type { Manual } from './notes.ts';
import { optionTable, parseOptions } from './options.ts';
import type { CommandRule } from './rules.ts';

/** `curl localhost:3000`: asks a server that the conversation itself has started, on a loopback of its own. */
const asksOwnServer: CommandRule = {
  id: 'CMD-CURL-1',
  risk: 'MEDIUM',
  why: 'asks a server on the loopback of this conversation',
  matches: [
    'curl -s http://localhost:3000/api/health',
    'curl -sf localhost:8000 | jq .',
    "curl -X POST http://localhost:3000/a -H 'Content-Type: application/json' -d '{\"a\":1}'",
    'curl -o /dev/null -s -w "%{http_code}\\n" http://127.0.0.1:5173/',
    'curl -i http://[::1]:80/a?b=c',
    "curl -sX DELETE 'http://localhost:3000/a' --max-time 5",
    'sleep 2 && curl --fail --silent http://localhost:3000',
  ],
  doesNotMatch: [
    'curl https://example.com',
    'curl http://localhost:80@example.com/',
    'curl http://localhost.example.com',
    'curl http://localhost:3000 https://example.com',
    'curl http://localhost:3000 -o /dev/null -o a.js',
    'curl -L http://localhost:3000',
    'curl -x http://example.com http://localhost:3000',
    'curl --url http://example.com http://localhost:3000',
    'curl -d @.env http://localhost:3000',
    'curl --data-binary=@a.txt http://localhost:3000',
    'curl -F a=@a.txt http://localhost:3000',
    'curl -T a.txt http://localhost:3000',
    'curl -o a.js http://localhost:3000',
    'curl -O http://localhost:3000/a.js',
    'curl -K a.txt http://localhost:3000',
    'curl -b cookies.txt http://localhost:3000',
    'curl -c cookies.txt http://localhost:3000',
    'curl -H @a.txt http://localhost:3000',
    "curl -w '%output{a.js}x' http://localhost:3000",
    'curl -w @a.txt http://localhost:3000',
    "curl -s 'http://localhost:3000/{a,b}'",
    'x=@.env; curl -d "$x" localhost:3000',
    'curl --next http://localhost:3000',
    'curl -sd@a.txt http://localhost:3000',
    'curl',
    'curl -s',
  ],
};

const ADDRESS = /^(https?:\/\/)?(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?([/?][^\s{}[\]]*)?$/;

const table = optionTable({
  abbreviations: false,
  flags: `-s --silent -S --show-error -f --fail --fail-with-body -i --include -I --head -v --verbose -k --insecure -N --no-buffer
    -G --get --compressed --retry-connrefused --retry-all-errors -4 -6`,
  values: `-X --request -m --max-time --connect-timeout --retry --retry-delay -A --user-agent -d --data --data-raw
    --data-binary --json -H --header -w --write-out`,
  rows: [
    { names: '-b --cookie', value: 'text' },
    { names: '-o --output', value: 'text' },
  ],
});

/** Whether the call is understood, no value names a file, and every address is of the own loopback. */
export function isOwnServerCall([program, ...args]: readonly string[]): boolean {
  if (program !== 'curl' || args.some(hasHole)) return false;
  const words = parseOptions(args, table);
  const isHarmless = (word: (typeof words)[number]): boolean => {
    if (word.kind === 'operand') return ADDRESS.test(word.text);
    if (word.kind !== 'option') return false;
    const { row, value = '' } = word;
    if (row.names === '-o --output') return value === '/dev/null';
    // Without `=` it is a file, as is what follows `@`. `%output{a.js}` writes one.
    if (row.names === '-b --cookie') return value.includes('=');
    return !value.startsWith('@') && !value.includes('%output');
  };
  return words.some(({ kind }) => kind === 'operand') && words.every(isHarmless);
}

export const ownServer: Manual = {
  names: ['curl'],
  // A pattern could become `@file`.
  scriptFirst: true,
  rules: [asksOwnServer],
  read(args, notes) {
    const address = args.find((word) => ADDRESS.test(word));
    notes.raise(asksOwnServer, address);
  },
};
