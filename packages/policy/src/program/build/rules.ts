import type { CommandRule } from '../rules.ts';

/** Why a program that builds, tests or installs has its risk. The examples are in the tables of tools. */

export const buildsProject: CommandRule = {
  id: 'BUILD-1',
  risk: 'MEDIUM',
  why: 'builds, tests or checks the project, which runs its code and that of installed packages',
  matches: [
    'make test',
    'cargo build',
    'npx tsc --noEmit',
    'pytest -q',
    './node_modules/.bin/eslint .',
    'go test ./...',
  ],
  doesNotMatch: ['cat Makefile', 'npm test', 'echo make', 'cargo --version', 'go version'],
};

export const installsForProject: CommandRule = {
  id: 'BUILD-2',
  risk: 'MEDIUM',
  why: 'downloads packages that the project names; they run code of their authors',
  network: true,
  matches: [
    'pnpm install',
    'pip install -r requirements.txt',
    'cargo add serde',
    'bundle install',
    'uv sync',
    'yarn',
  ],
  doesNotMatch: ['pnpm test', 'pip list', 'cargo build', 'make install'],
};

export const runsInstalled: CommandRule = {
  id: 'BUILD-3',
  risk: 'MEDIUM',
  why: 'runs a program that the project has installed',
  matches: [
    'npx some-tool',
    './node_modules/.bin/some-tool',
    '.venv/bin/some-tool x',
    'source .venv/bin/activate',
  ],
  doesNotMatch: ['npx tsc', 'node_modules/.bin/eslint .', './some-tool'],
};

export const unknownSubcommand: CommandRule = {
  id: 'BUILD-4',
  risk: 'HIGH',
  why: 'is not known to build, test or install',
  matches: [
    'cargo publish',
    'cargo frobnicate',
    'poetry config a b',
    'bundle exec rm x',
    'pnpm dlx x',
    'uv run rm x',
  ],
  doesNotMatch: ['cargo build', 'poetry install', 'bundle exec rspec', 'pnpm exec tsc', 'uv run pytest'],
};

export const bringsCode: CommandRule = {
  id: 'BUILD-5',
  risk: 'HIGH',
  why: 'brings code of its own in the command, or another program to start',
  needsPerson: true,
  matches: [
    "make --eval='x:;id' x",
    "make X='$(shell id)'",
    'go test -exec ./x ./...',
    'go test --exec=./x ./...',
    'go build -toolexec=./x',
    'cargo --config \'build.rustc="./x"\' build',
    'cmake -P x.cmake',
    'bun -e 1',
    'tsx --eval=1',
    'rake -e 1',
    'pytest -p evil',
    'gradle -I x.gradle build',
  ],
  doesNotMatch: ['make CC=gcc', 'go test -run X ./...', 'pytest -p no:cacheprovider', 'cmake -B build'],
};

export const sendsAway: CommandRule = {
  id: 'BUILD-6',
  risk: 'HIGH',
  why: 'runs a task that by its name publishes or deploys',
  matches: [
    'make deploy',
    'yarn run publish',
    'just release',
    'deno task deploy',
    'npx nx run app:deploy',
    'pnpm run docker:push',
  ],
  doesNotMatch: ['make test', 'yarn build', 'just relish'],
};

export const otherSource: CommandRule = {
  id: 'BUILD-7',
  risk: 'HIGH',
  why: 'takes code from an address instead of from the registry',
  network: true,
  needsPerson: true,
  matches: [
    'pip install git+https://example.com/x',
    'pip install https://example.com/x.whl',
    'go run example.com/x@latest',
    'cargo install --git https://example.com/x',
  ],
  doesNotMatch: ['pip install requests', 'deno run src/a.ts', 'go run ./cmd/app'],
};

export const unknownPackage: CommandRule = {
  id: 'BUILD-8',
  risk: 'HIGH',
  why: 'runs a package that the project has not installed, or whose work leaves the project',
  network: true,
  matches: [
    'npx -y cowsay',
    'npx eslint@8 .',
    'npx -c id',
    'npx rimraf src',
    'npx wrangler deploy',
    'uvx evil',
    'uvx ruff check',
    'npx --package=x tsc',
  ],
  doesNotMatch: ['npx eslint .', 'npx --no-install tsc', 'uv run ruff check'],
};

export const installsForAccount: CommandRule = {
  id: 'BUILD-9',
  risk: 'HIGH',
  why: 'installs programs for your account, outside the workspace',
  network: true,
  matches: [
    'cargo install cargo-insta',
    'go install example.com/x@v1',
    'pip install --user httpie',
    'pnpm add -g x',
  ],
  doesNotMatch: ['cargo install --path .', 'go install ./...', 'pip install httpie', 'go get example.com/x'],
};
