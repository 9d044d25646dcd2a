import { wordList } from '../text.ts';

/** Programs that print their version and end, with the words that ask for it. */
const questions: readonly (readonly [names: string, words: string])[] = [
  ['node npm npx pnpm yarn tsc ruby php gcc g++ clang clang++ cc c++ make perl java', '-v --version'],
  [
    `python python3 pip pip3 uv poetry cargo rustc rustup rustfmt git cmake ninja just java javac gem bundle deno bun ruff mypy
    black jq rg fd curl wget bash sh zsh sed awk gawk grep find tar zip unzip psql sqlite3 mysql terraform helm docker gh nvim vim
    emacs dotnet swift clang-format shellcheck tree file diff sort ls cat stat du xargs golangci-lint protoc buf zig elixir erl
    mix lua luajit R julia ghc stack cabal ocaml dune scala sbt kotlin kotlinc conda tox nox`,
    '--version',
  ],
  ['python python3 pip pip3 cargo rustc jq rg tar', '-V'],
  ['go git zig terraform', 'version'],
  ['java javac scala kotlin', '-version'],
];

const asked: ReadonlySet<string> = new Set(
  questions.flatMap(([names, words]) =>
    wordList(names).flatMap((name) => wordList(words).map((word) => `${name} ${word}`)),
  ),
);

/** Whether a call only asks a program for its version: `node -v`, `go version`. */
export const asksVersion = ([program = '', ...args]: readonly string[]): boolean =>
  args.length === 1 && asked.has(`${program} ${args[0]}`);
