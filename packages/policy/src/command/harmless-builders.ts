import { wordList } from '../text.ts';
import type { HarmlessCommand } from './harmless-commands.ts';

/**
 * Builders, testers, linters and formatters that a grant covers (AP-4): they run the project's code, as the call did that the
 * grant was made on. Not in these lists: what installs, publishes or deploys, options that name a program or code (`-toolexec`,
 * `--config`, `-D x=y`), and options that write to a file of the caller's choice.
 */

const entry = (
  command: string,
  options: string,
  covers: string,
  doesNotCover = '',
  more: Pick<HarmlessCommand, 'operand' | 'mostOperands' | 'rest'> = {},
): HarmlessCommand => ({
  command,
  options,
  covers: covers.split('; '),
  doesNotCover: doesNotCover === '' ? [] : doesNotCover.split('; '),
  ...more,
});

/** A task is known only by its name, so names that suggest publishing or installing are not covered. */
const taskName =
  /^(?!.*(publish|releas|deploy|upload|push|ship))(?!install|uninstall|(un)?link$)[\w@.:/-]+$/i;

/** Tasks that pnpm and yarn start by their name alone. Any other word may be a subcommand, such as `add` or `dlx`. */
const commonTask =
  /^(test|build|lint|format|fmt|typecheck|type-check|check|compile|tsc|unit|e2e)([:-][\w:-]+)?$/;

/** Programs of Node projects. Their arguments show what they run. */
const nodeTools: readonly HarmlessCommand[] = [
  entry(
    'tsc',
    '--noEmit -p= --project= -b --build --pretty --skipLibCheck --strict --incremental --listFiles --noErrorTruncation',
    'tsc; tsc --noEmit; tsc -p tsconfig.json --noEmit; tsc -b',
    'tsc --outDir x; tsc --plugins x',
  ),
  ...['eslint', 'oxlint', 'stylelint'].map((name) =>
    entry(
      name,
      '--fix --ext= --max-warnings= --quiet --cache --no-error-on-unmatched-pattern --report-unused-disable-directives',
      `${name} src --fix; ${name} . --ext .ts,.tsx --max-warnings 0`,
      `${name} -c x.js .; ${name} --rulesdir x .; ${name} -f ./x.js .; ${name} -o x .`,
    ),
  ),
  entry(
    'prettier',
    '--check -c --write -w --list-different -l --ignore-unknown -u --no-error-on-unmatched-pattern',
    'prettier --check .; prettier --write src/a.ts',
    'prettier --plugin=./x .; prettier --config x.js .',
  ),
  ...['check', 'lint', 'format', 'ci'].map((name) =>
    entry(
      `biome ${name}`,
      '--write --fix --unsafe --no-errors-on-unmatched --max-diagnostics= --diagnostic-level=',
      `biome ${name}; biome ${name} --write src`,
      `biome ${name} --config-path=x`,
    ),
  ),
  ...['vitest', 'vitest run', 'vitest related'].map((name) =>
    entry(
      name,
      `-t= --testNamePattern= --run --coverage --silent --bail= --project= --no-coverage -u --update --passWithNoTests --changed
      --reporter=verbose --reporter=dot --reporter=default`,
      `${name}; ${name} src/a.test.ts -t 'a b'; ${name} --coverage`,
      `${name} --config x.ts; ${name} --globalSetup ./x; ${name} --reporter=./x; ${name} --api 80`,
    ),
  ),
  entry(
    'jest',
    `-t= --testNamePattern= --testPathPattern= --testPathPatterns= --runInBand -i --coverage --silent --verbose --bail[=] --ci
      --watchAll=false --maxWorkers= -w= -u --updateSnapshot --no-cache --findRelatedTests --detectOpenHandles --forceExit
      --passWithNoTests --onlyChanged -o`,
    'jest; jest --runInBand --testPathPattern=auth; jest src/a.test.js -t name',
    'jest --config x; jest --runner ./x; jest --globalSetup ./x; jest --outputFile=x',
  ),
  entry(
    'mocha',
    '-g= --grep= -t= --timeout= --exit --bail -b --recursive',
    'mocha tests/a.js -g x',
    'mocha -r ./x tests; mocha --config x; mocha --node-option require=./x',
  ),
  entry(
    'playwright test',
    '--project= -g= --grep= --headed --workers= -j= --retries= --max-failures= -x --last-failed --reporter=list --reporter=line --reporter=dot',
    'playwright test; playwright test e2e/a.spec.ts --project=chromium',
    'playwright test --config x; playwright install; playwright test --reporter=./x',
  ),
  ...['vite build', 'next build', 'next lint', 'astro check', 'svelte-check', 'vue-tsc', 'knip', 'tsup'].map(
    (name) => entry(name, '--noEmit', name, `${name} --config x`, { mostOperands: 0 }),
  ),
  ...['turbo run', 'turbo'].map((name) =>
    entry(
      name,
      '--filter= --force --no-cache --continue',
      `${name} build; ${name} test --filter=web`,
      `${name} deploy; ${name} exec rm; ${name} link; ${name} build --cwd=x; ${name} login`,
      { operand: commonTask },
    ),
  ),
  ...['tsx', 'ts-node'].map((name) =>
    entry(name, '', `${name} scripts/a.ts --x`, `${name} -e 1; ${name} -r ./x a.ts; ${name} watch a.ts`, {
      operand: /\.[cm]?[jt]sx?$/,
      rest: 'after operand',
    }),
  ),
];

export const pytestOptions = `-q -v -x -s -l -k= -m= -r= -n= --maxfail= --tb= --lf --ff --co --collect-only --no-header --durations=
  --disable-warnings --color= --cov[=] --cov-report=term --cov-report=term-missing --no-cov --sw --stepwise`;

const pythonTools: readonly HarmlessCommand[] = [
  entry(
    'pytest',
    pytestOptions,
    "pytest; pytest -xvs tests/a.py::test_b; pytest -k 'a and not b' --tb=short; pytest --cov=src",
    'pytest -p x; pytest -c x.ini; pytest @x; pytest --pdb; pytest -o addopts=-px; pytest --junitxml=x; pytest --rootdir=x',
    { operand: /^[^@]/ },
  ),
  entry(
    'ruff check',
    '--fix --unsafe-fixes --diff --select= --ignore= --extend-select= --statistics --show-fixes -q --output-format=',
    'ruff check . --fix; ruff check src --select=E',
    'ruff check --config x; ruff check --output-file=x',
  ),
  entry('ruff format', '--check --diff -q', 'ruff format --check .', 'ruff format --config x'),
  entry(
    'mypy',
    '--strict --ignore-missing-imports --show-error-codes --pretty --check-untyped-defs --no-incremental -p= -m= -v',
    'mypy src; mypy --strict src',
    'mypy --config-file x; mypy --install-types; mypy --python-executable ./x src; mypy --junit-xml x',
  ),
  entry(
    'black',
    '--check --diff -l= --line-length= -q -v',
    'black .; black --check src',
    'black --config x .',
  ),
  entry(
    'isort',
    '--check --check-only -c --diff --profile=black -q',
    'isort . --check-only',
    'isort --settings-path x .',
  ),
  entry(
    'flake8',
    '--max-line-length= --select= --ignore= --count --statistics',
    'flake8 src',
    'flake8 --config x; flake8 --output-file x',
  ),
  entry('pyright', '', 'pyright; pyright src', 'pyright -p x'),
  entry(
    'coverage report',
    '-m --show-missing --skip-covered',
    'coverage report -m',
    'coverage report --rcfile=x',
  ),
];

const rubyTools: readonly HarmlessCommand[] = [
  entry(
    'rspec',
    '-fd -fp --fail-fast --only-failures --seed= -e= --example=',
    'rspec; rspec spec/a_spec.rb:4 -fd',
    'rspec -r ./x; rspec -I x; rspec --options x; rspec -f ./x; rspec -o x',
  ),
  entry(
    'rubocop',
    '-a -A --autocorrect --autocorrect-all --only= --parallel -P',
    'rubocop -a app',
    'rubocop -r ./x; rubocop -c x; rubocop -o x',
  ),
  entry('rake', '-T', 'rake test; rake', 'rake -e 1; rake -r ./x; rake release; rake -f x; rake a=b', {
    operand: taskName,
  }),
  ...['rails test', 'bin/rails test', './bin/rails test'].map((name) =>
    entry(name, '-v -b -f -n=', `${name}; ${name} test/models`, `${name} -r ./x`),
  ),
];

/** Programs that start another one of the project, beside npx. */
const pythonRunners = ['uv run', 'poetry run', 'pipenv run', 'pdm run'];
export const startingPrefixes: readonly string[] = ['pnpm exec', 'bundle exec', ...pythonRunners];

const underPrefix = (
  prefixes: readonly string[],
  tools: readonly HarmlessCommand[],
): readonly HarmlessCommand[] =>
  prefixes.flatMap((prefix) =>
    tools.map(({ command, covers, doesNotCover = [], ...rest }) => ({
      ...rest,
      command: `${prefix} ${command}`,
      covers: covers.map((line) => `${prefix} ${line}`),
      doesNotCover: doesNotCover.map((line) => `${prefix} ${line}`),
    })),
  );

const goOptions = '-v -race -tags= -p= -trimpath';
const cargoOptions = `--release -r --workspace --all --all-targets --all-features --no-default-features --features= -F= -p= --package=
  --exclude= --lib --bin= --bins --test= --tests --example= --examples --doc --locked --offline --frozen -q --quiet -v --verbose
  -j= --jobs= --no-run --no-fail-fast --keep-going --message-format= --profile=`;

const compiled: readonly HarmlessCommand[] = [
  entry(
    'make',
    '-j[=] -k -s -B -n --silent --dry-run --keep-going --always-make',
    'make; make test; make -j4 lint test; make -j 8',
    "make deploy; make install; make -f x.mk; make -C x; make CC=x; make --eval=x; make -I x; make -E x; make 'SHELL=x'",
    { operand: taskName },
  ),
  entry('just', '-l --list', 'just; just test', 'just -f x; just --shell x test; just release; just a=b', {
    operand: taskName,
  }),
  entry(
    'ninja',
    '-j[=] -v -k= -C=',
    'ninja -C build; ninja -C build test',
    'ninja -f x; ninja -t clean; ninja -C build install',
    { operand: taskName },
  ),
  entry(
    'cmake --build',
    '-j[=] --parallel[=] --config= -v --verbose --clean-first',
    'cmake --build build -j 8; cmake --build build --config Release',
    'cmake --build build --target install; cmake --build build -- -f x',
  ),
  entry(
    'cmake',
    `-B= -S= -G= -DCMAKE_BUILD_TYPE=Debug -DCMAKE_BUILD_TYPE=Release -DCMAKE_BUILD_TYPE=RelWithDebInfo
      -DCMAKE_EXPORT_COMPILE_COMMANDS=ON`,
    'cmake -B build -S . -DCMAKE_BUILD_TYPE=Debug; cmake ..',
    'cmake -P x; cmake -E rm x; cmake -C x; cmake --install build; cmake -DCMAKE_C_COMPILER=./x -B build; cmake --toolchain x',
  ),
  entry(
    'ctest',
    '--test-dir= --output-on-failure -R= -E= -L= -j[=] -V -C= --rerun-failed --verbose',
    'ctest --test-dir build --output-on-failure -R a',
    'ctest -S x; ctest --build-and-test; ctest -D Nightly',
  ),
  ...['build', 'b', 'check', 'c', 'test', 't', 'clippy', 'doc', 'bench', 'nextest run', 'run'].map((name) =>
    entry(
      `cargo ${name}`,
      cargoOptions,
      `cargo ${name}; cargo ${name} -p core --release; cargo ${name} -- --x y`,
      `cargo ${name} --config a=b; cargo ${name} --target-dir x; cargo ${name} --manifest-path x; cargo ${name} -Z x`,
      { rest: 'after dashes' },
    ),
  ),
  entry(
    'cargo fmt',
    '--all --check -p=',
    'cargo fmt --all -- --check',
    'cargo fmt -- --config-path x; cargo publish; cargo install x; cargo add x; cargo rustc; cargo x',
  ),
  entry(
    'cargo tree',
    '-p= --package= -i= --invert= -d --duplicates --depth=',
    'cargo tree -i serde',
    'cargo tree --manifest-path x',
  ),
  entry(
    'go test',
    `${goOptions} -short -failfast -cover -json -run= -skip= -count= -timeout= -bench= -benchmem -cpu= -parallel= -shuffle= -list=`,
    'go test ./...; go test -race -count=1 -run TestA ./internal/a; go test -v -timeout 30s .',
    'go test -exec ./x .; go test -toolexec x .; go test -coverprofile=x .; go test -o x .; go test -args x; go test -modfile=x .',
  ),
  ...['build', 'vet'].map((name) =>
    entry(
      `go ${name}`,
      goOptions,
      `go ${name} ./...`,
      `go ${name} -toolexec x .; go ${name} -vettool=x .; go ${name} -overlay=x .; go ${name} -o x .; go ${name} -ldflags=x .`,
    ),
  ),
  entry('go fmt', '-n', 'go fmt ./...', 'go generate; go install ./x; go get x; go env -w A=b; go tool x'),
  entry('go list', '-m -json -deps -test', 'go list -m all', 'go list -toolexec x'),
  entry(
    'go run',
    '-race',
    'go run ./cmd/a --x',
    'go run example.com/x; go run -exec ./x .; go run https://x',
    {
      operand: /^\.(\/|$)/,
      rest: 'after operand',
    },
  ),
  entry('gofmt', '-l -d -s -w', 'gofmt -l -w internal', 'gofmt -r a->b x; gofmt -cpuprofile x'),
  entry('golangci-lint run', '--fix --timeout= -v', 'golangci-lint run ./...', 'golangci-lint run -c x'),
  ...['gradle', './gradlew'].map((name) =>
    entry(
      name,
      `--tests= -x= --no-daemon --info --stacktrace --continue --rerun-tasks -q --quiet --console=plain --parallel --offline
      --build-cache --no-build-cache`,
      `${name} build -x test; ${name} :app:test --tests a.B; ${name} check`,
      `${name} publish; ${name} -I x test; ${name} -p x test; ${name} -Pa=b test; ${name} bootRun; ${name} -b x.gradle test`,
      {
        operand:
          /^(:[\w-]+)*:?(test|build|check|assemble|compile|clean|lint|jar|classes|testClasses|tasks|dependencies|javadoc|ktlintCheck|detekt|spotlessCheck|spotlessApply|compile\w+|assemble(Debug|Release)|test\w*UnitTest)$/,
      },
    ),
  ),
  ...['mvn', './mvnw'].map((name) =>
    entry(
      name,
      '-q -B -o -U -e -ntp --no-transfer-progress --batch-mode -pl= -am -DskipTests -Dtest=',
      `${name} -q test; ${name} -B verify -DskipTests; ${name} test -Dtest=A`,
      `${name} deploy; ${name} exec:java; ${name} -f x test; ${name} -s x test; ${name} -Dmaven.ext.class.path=x test`,
      {
        operand:
          /^(clean|validate|compile|test-compile|test|package|verify|spotless:(check|apply)|checkstyle:check)$/,
      },
    ),
  ),
  ...['build', 'test', 'format'].map((name) =>
    entry(
      `dotnet ${name}`,
      '--no-restore --no-build -c= --configuration= --filter= --nologo --verify-no-changes -f= --framework=',
      `dotnet ${name}; dotnet ${name} --filter a --no-restore`,
      `dotnet ${name} -p:a=b; dotnet ${name} /p:a=b; dotnet ${name} -o x`,
      { operand: /^[^/@-]/ },
    ),
  ),
  ...['build', 'test'].map((name) =>
    entry(
      `swift ${name}`,
      '--filter= -c= --configuration= -v --parallel',
      `swift ${name}`,
      `swift ${name} -Xswiftc x; swift ${name} --package-path x`,
    ),
  ),
  ...['test', 'compile', 'format', 'credo'].map((name) =>
    entry(
      `mix ${name}`,
      '--trace --only= --exclude= --failed --stale --max-failures= --seed= --warnings-as-errors --force --check-formatted --strict',
      `mix ${name}`,
      `mix ${name} -r x; mix run -e 1; mix deps.get`,
    ),
  ),
  entry(
    'phpunit',
    '--filter= --testsuite= --stop-on-failure --testdox --no-coverage',
    'phpunit --filter a tests',
    'phpunit --bootstrap x; phpunit -c x',
  ),
];

const packageManagers: readonly HarmlessCommand[] = [
  entry(
    'pnpm run',
    '--silent -s --if-present --filter= -F= -r --recursive',
    'pnpm run lint:fix --x; pnpm run -r gen',
    'pnpm run deploy; pnpm run --script-shell=x a',
    { operand: taskName, rest: 'after operand' },
  ),
  // These two also start programs and files by their name.
  ...['yarn run', 'bun run'].map((name) =>
    entry(name, '--silent -s', `${name} lint:fix --x`, `${name} deploy; ${name} rimraf x; ${name} a.js`, {
      operand: commonTask,
      rest: 'after operand',
    }),
  ),
  entry(
    'pnpm',
    '--filter= -F= -r --recursive --silent -s --if-present --parallel --stream --no-bail -w --workspace-root --workspace-concurrency=',
    'pnpm test; pnpm --filter ui build; pnpm -r test; pnpm lint:fix --x',
    'pnpm add x; pnpm dlx x; pnpm publish; pnpm -C x test; pnpm --dir x test; pnpm exec rm x; pnpm --filter ui add x; pnpm node a.js; pnpm --script-shell=x test; pnpm deploy',
    { operand: commonTask, rest: 'after operand' },
  ),
  entry(
    'yarn',
    '--silent -s',
    'yarn test; yarn build --x; yarn lint:fix',
    'yarn; yarn add x; yarn dlx x; yarn --cwd x test; yarn npm publish; yarn node a.js; yarn set version x; yarn exec rm',
    { operand: commonTask, rest: 'after operand' },
  ),
  entry(
    'bun test',
    '-t= --coverage --bail[=] --timeout=',
    'bun test; bun test src/a.test.ts',
    'bun test --preload ./x; bun add x; bunx x; bun -e 1; bun a.ts',
  ),
  ...['deno test', 'deno lint', 'deno fmt', 'deno check'].map((name) =>
    entry(
      name,
      '--check --filter= --no-check',
      `${name}; ${name} src`,
      `${name} --allow-all; ${name} --config x; ${name} https://example.com/x`,
      { operand: /^[^:]*$/ },
    ),
  ),
];

/** Starts a Python script, as `python` does. */
const scriptOfPython = (prefix: string): HarmlessCommand =>
  entry(
    `${prefix} python`,
    '-u -B',
    `${prefix} python scripts/a.py --x`,
    `${prefix} python -c 1; ${prefix} python -; ${prefix} python -m pip install x`,
    { operand: /\.py$/, rest: 'after operand' },
  );

export const harmlessBuilders: readonly HarmlessCommand[] = [
  ...nodeTools,
  ...underPrefix(['npx', 'pnpm exec', 'yarn', 'yarn run'], nodeTools),
  ...pythonTools,
  ...underPrefix(pythonRunners, pythonTools),
  ...pythonRunners.map(scriptOfPython),
  ...underPrefix(
    ['python -m', 'python3 -m'],
    pythonTools.filter(({ command }) => !command.startsWith('pytest')),
  ),
  ...rubyTools,
  ...underPrefix(
    ['bundle exec'],
    rubyTools.filter(({ command }) => !command.includes('rails')),
  ),
  ...compiled,
  ...packageManagers,
];

/** Folders of a project's installed programs: `.venv/bin/pytest` takes the words that `pytest` takes. */
const INSTALLED = new RegExp(
  `^(\\./)?(\\.?venv/bin|node_modules/\\.bin|vendor/bin)/(?=(${wordList(
    'python python3 pytest ruff mypy black isort flake8 pyright coverage tsc eslint prettier biome vitest jest mocha playwright phpunit',
  ).join('|')})$)`,
);

/** The name by which the lists know a program. */
export const listedProgram = (program: string): string => program.replace(INSTALLED, '');
