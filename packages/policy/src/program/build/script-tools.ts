import type { BuildTool } from './build-tool.ts';

/** Programs that build, test and check projects in JavaScript, Python, Ruby and PHP. */

const packageHarms = `publish unpublish dlx create init store config set login logout owner tag team deprecate link unlink global env
  setup self-update plugin import npm policies patch-commit whoami token access profile bin-links server deploy pack upgrade-interactive x
  licenses explore doctor star repl upgrade version`;

/** Tasks that change a database, which may be anywhere. */
const databaseTasks =
  'db:migrate db:rollback db:create db:drop db:reset db:setup db:prepare db:seed db:schema:load';

const isGlobal = (_: string, words: readonly string[]): boolean =>
  words.some((word) => /^(-g|--global)$/.test(word));

export const scriptTools: readonly BuildTool[] = [
  {
    names: 'pnpm',
    values: '-C --dir --filter -F --prefix --workspace-concurrency --reporter --loglevel',
    builds: 'run run-script test t start build lint ls list why outdated recursive rebuild bin root',
    network: 'install i add remove rm update up fetch audit prune dedupe ci install-test it',
    runs: 'exec',
    tasks: true,
    alone: 'builds',
    refused: packageHarms,
    code: '--script-shell --shell-mode -c --config.script-shell --node-options',
    medium:
      'pnpm test; pnpm build; pnpm --filter core run build; pnpm -r test; pnpm exec tsc --noEmit; pnpm lint --fix; pnpm run typecheck',
    online: 'pnpm install --frozen-lockfile; pnpm add x; pnpm i; pnpm -C app install',
    forAccount: isGlobal,
    high: 'pnpm publish; pnpm add -g x; pnpm dlx x; pnpm create vite; pnpm run deploy; pnpm exec rm -rf x; pnpm -c exec id; pnpm config set a b; pnpm env use 20; pnpm node -e 1; pnpm bash x; pnpm run tsx -e 1',
  },
  {
    names: 'yarn',
    values: '--cwd --mutex --network-timeout',
    builds: 'run test start build lint list why info outdated workspaces bin licenses',
    network: 'install add remove upgrade up dedupe audit',
    tasks: true,
    alone: 'network',
    refused: packageHarms,
    runs: 'exec',
    code: '--script-shell --node-options --use-yarnrc',
    medium:
      'yarn test; yarn build --mode dev; yarn run lint; yarn tsc --noEmit; yarn workspaces run test; yarn --cwd app build; yarn node src/a.js',
    online: 'yarn install --immutable; yarn add -D x; yarn',
    high: 'yarn publish; yarn npm publish; yarn dlx x; yarn create app; yarn deploy; yarn config set a b; yarn plugin import x; yarn node -e 1; yarn run node -p 1; yarn sh -c id; yarn env sh',
  },
  {
    names: 'bun',
    values: '--cwd --filter --env-file -c --config',
    builds: 'run test build pm',
    network: 'install i add remove rm update outdated ci audit',
    tasks: true,
    refused: `${packageHarms} exec`,
    code: '-e --eval -p --print -r --preload --import --shell',
    medium: 'bun test; bun run build; bun build src/a.ts; bun lint; bun src/a.ts',
    online: 'bun install; bun add x',
    forAccount: isGlobal,
    high: 'bun x cowsay; bun add -g x; bun -e 1; bun publish; bun create x; bun --preload ./x.ts test; bun run deploy; bun',
  },
  {
    names: 'deno',
    builds: 'test lint fmt check task bench run doc info coverage compile',
    network: 'install add cache outdated',
    code: '--location --import-map-url --preload --allow-scripts',
    medium: 'deno test; deno lint; deno fmt --check; deno task build; deno run -A src/a.ts',
    online: 'deno cache src/a.ts; deno install; deno add npm:chalk jsr:@std/path',
    high: "deno run -A npm:cowsay; deno run jsr:@a/b; deno compile https://example.com/x.ts; deno eval '1'; deno publish; deno upgrade; deno task deploy; deno repl",
  },
  {
    names: `tsc vue-tsc svelte-check eslint prettier stylelint oxlint oxfmt jest mocha ava tap uvu karma webpack rollup
      esbuild tsup tsdown unbuild parcel swc babel knip madge depcheck syncpack publint attw cspell typedoc jsdoc api-extractor
      html-validate htmlhint standard xo ts-prune dependency-cruiser depcruise jscpd size-limit remark textlint sass lessc postcss
      tailwindcss openapi-typescript graphql-codegen relay-compiler vsce-check lint-staged commitlint rspack tstyche tsd
      markdownlint-cli2 markdownlint-cli license-checker npm-check react-scripts craco ng-packagr snyk-check microbundle wtr web-test-runner jasmine`,
    always: true,
    code: '--eval -e --stdin-filename-code',
    medium: `tsc --noEmit; eslint . --fix; prettier --check src; jest --coverage; mocha tests/a.js; webpack --mode production;
      npx tsc -p .; npx eslint src; npx jest -t name; npx --no-install prettier --write .; npx --no -- eslint src; npm exec -- eslint .; npm x --no -- prettier --check .; npm exec tsc; pnpm exec eslint .; ./node_modules/.bin/eslint .; node_modules/.bin/tsc`,
    high: 'npx -y prettier .; npx eslint@8 .; npx cowsay; npx -p x eslint; npx --package=x tsc; npx -c id; npx; npm exec -c id; npm exec tsc -c id; npm exec eslint --package=x; npm exec --package=x -- eslint; npm exec -- sh -c id; npm --prefix=.. exec -- tsc; npx ./x',
  },
  {
    names: 'nyc c8',
    values: '--reporter -n --include -x --exclude -e --extension -t --temp-dir',
    builds: 'report check-coverage merge instrument',
    starts: true,
    code: '-r --require -i --hook-require',
    medium: 'nyc mocha; npx c8 node --test; c8 --reporter text npm test; npx nyc report; c8 vitest run',
    high: 'nyc sh -c id; npx c8 curl x; npx nyc bash -c id; c8 node -e 1; nyc -r ./x mocha; c8',
  },
  {
    names:
      'vitest biome vite next nuxt nuxi astro remix ng nx turbo lerna cypress storybook sb expo gatsby rsbuild moon wireit',
    values: '--config -c --root -r --filter',
    builds: `run test lint format check ci build dev watch bench related preview typecheck affected run-many graph
      e2e component build-storybook start export prepare generate info sync verify show prune ls list types explain sync lint`,
    alone: 'builds',
    tasks: true,
    code: '--globalSetup-code',
    medium: `vitest run; npx vitest run src/a.test.ts; biome check --write .; npx vite build; next build; nx test core; turbo run build; npx turbo lint;
      npx biome ci; npx nx affected -t test; vitest --coverage; npx cypress run; astro check`,
    refused: 'exec run-commands create',
    high: 'next deploy; lerna publish; nx release; npx turbo deploy; npx lerna exec -- rm -rf x; nx exec -- rm x; lerna exec rm; lerna create x',
  },
  {
    names: 'playwright',
    builds: 'test show-report merge-reports codegen',
    network: 'install install-deps',
    medium: 'npx playwright test --project=chromium; playwright test',
    online: 'npx playwright install chromium',
    high: 'playwright open x; playwright run-server',
  },
  {
    names: 'prisma drizzle-kit typeorm sequelize-cli knex',
    builds: 'generate validate format check introspect',
    medium: 'npx prisma generate; npx prisma validate; drizzle-kit generate',
    high: 'npx prisma migrate reset; npx prisma db push; drizzle-kit push; npx prisma studio',
  },
  {
    names: 'changeset',
    builds: 'status add',
    medium: 'npx changeset status',
    high: 'npx changeset publish; npx changeset version',
  },
  {
    names: 'tsx ts-node tsimp vite-node',
    values: '--tsconfig -P --project',
    tasks: true,
    code: '-e --eval -p --print -r --require --import --loader -i --interactive',
    medium:
      'tsx src/a.ts; npx tsx scripts/build.ts --x; ts-node src/a.ts; npx ts-node -P tsconfig.json src/a.ts',
    high: 'tsx -e 1; npx tsx --eval=1; ts-node -r ./x src/a.ts; tsx',
  },
  {
    names: `pytest py.test mypy black isort flake8 pylint pyflakes pyright basedpyright bandit autopep8 yapf pydocstyle pycodestyle
      vulture radon interrogate docformatter djlint sphinx-build mkdocs-build pyupgrade autoflake ssort slotscheck deptry tach lint-imports ty pyrefly`,
    always: true,
    code: '-p --pdbcls --override-ini -o=python --python-executable --init-hook --load-plugins --install-types --basetemp --tx --pastebin',
    medium: `pytest -q tests/test_a.py; pytest tests -k login --maxfail=1; mypy src; black --check .; isort .; .venv/bin/pytest -x; venv/bin/mypy src;
      flake8 src; pyright; pylint src`,
    high: 'pytest -p evil; pylint --init-hook=1 src; mypy --python-executable=./x src; mypy --install-types src',
  },
  {
    names: 'ruff',
    builds: 'check format rule linter config analyze',
    medium: 'ruff check --fix .; ruff format --check src; .venv/bin/ruff check',
    high: 'ruff server; ruff clean',
  },
  {
    names: 'uvicorn gunicorn hypercorn daphne',
    always: true,
    code: '-c --config --log-config --env-file',
    medium:
      'uvicorn app.main:app --reload; gunicorn app:app -b 127.0.0.1:8000; .venv/bin/uvicorn app.main:app',
    high: 'gunicorn -c evil.py app:app; uvicorn --env-file=x app:app',
  },
  {
    names: 'flask fastapi streamlit',
    values: '-A --app',
    builds: 'run dev routes',
    code: '-e --env-file',
    medium: 'flask run; flask --app app.main run --debug; fastapi dev src/main.py; streamlit run main.py',
    high: 'flask shell; flask db upgrade; fastapi deploy; fastapi cloud x',
  },
  {
    names: 'mkdocs sqlfluff',
    builds: 'build serve lint fix format parse',
    medium: 'mkdocs build --strict; sqlfluff lint migrations',
    high: 'mkdocs gh-deploy; sqlfluff render x',
  },
  {
    names: 'tox nox',
    always: true,
    needsNetwork: true,
    code: '--override -x --devenv --force-python --override-ini',
    online: 'tox -e py312; nox -s tests; tox',
    high: 'tox -x testenv.commands=id',
  },
  {
    names: 'virtualenv',
    modules: 'venv build json.tool compileall py_compile tabnanny doctest pydoc',
    always: true,
    medium: 'python3 -m venv .venv; python3 -m build; cat a.json | python3 -m json.tool; virtualenv .venv',
  },
  {
    names: 'coverage',
    builds: 'run report html xml json combine erase',
    medium: 'coverage run -m pytest; coverage report -m',
    high: 'coverage debug sys',
  },
  {
    names: 'pre-commit prek',
    network: 'run autoupdate validate-config',
    online: 'pre-commit run --all-files',
    high: 'pre-commit install; pre-commit try-repo x; pre-commit hook-impl',
  },
  {
    names: 'pip pip3',
    values: '--python --log --proxy --timeout --cert',
    builds: 'list show freeze check inspect uninstall hash',
    network: 'install download wheel index',
    code: '-i --index-url --extra-index-url --find-links -f --trusted-host --global-option --config-settings --prefix --root --target -t',
    medium: 'pip list; pip show requests; pip freeze; pip check; .venv/bin/pip list',
    online:
      'pip install -r requirements.txt; pip install -e .; pip3 install requests; python3 -m pip install x',
    forAccount: (subcommand, words) =>
      subcommand === 'install' && words.some((word) => /^--(user|break-system-packages)$/.test(word)),
    high: 'pip install --user x; pip install --break-system-packages x; pip install -i https://example.com/ x; pip config set a b; pip install git+https://example.com/x; pip install https://example.com/x.whl; pip cache purge',
  },
  {
    names: 'uv',
    values: '--directory --project -p --python --config-file --extra --group --package --env-file --no-group',
    runsOnline: true,
    builds: 'tree version build format venv export',
    network: 'sync lock add remove pip',
    runs: 'run',
    code: '--index --default-index --index-url -i --extra-index-url --with --with-editable --with-requirements --find-links -f',
    forAccount: (subcommand, words) =>
      subcommand === 'pip' && words.some((word) => /^--(system|break-system-packages)$/.test(word)),
    medium: 'uv tree; uv venv; uv build',
    online:
      'uv sync; uv lock; uv add x; uv pip install -e .; uv run pytest -q; uv run ruff check; uv run python scripts/gen.py; uv run --frozen mypy src',
    high: 'uv pip install --system x; uv publish; uv tool install x; uv run --with evil pytest; uv run rm -rf x; uv self update; uv run python -c 1; uv pip install -i https://example.com x',
  },
  {
    names: 'poetry pdm pipenv hatch rye',
    values: '-C --directory -P --project -e --env',
    builds: 'check build show env version export test fmt lint format',
    network: 'install add update lock remove sync',
    runs: 'run',
    code: '--source --index',
    medium:
      'poetry check; poetry build; poetry show; poetry run pytest -q; poetry run mypy src; hatch test; pipenv run pytest',
    online: 'poetry install; poetry add x; pdm sync',
    high: 'poetry publish; poetry config a b; poetry run rm -rf x; poetry self add x; hatch publish; poetry run python -c 1; poetry source add a b',
  },
  {
    names: 'bundle bundler',
    builds: 'check list show info outdated env clean doctor platform',
    network: 'install update add remove lock audit',
    runs: 'exec',
    alone: 'network',
    medium: 'bundle exec rspec; bundle exec rubocop -A; bundle check; bundle exec rake test',
    online: 'bundle install; bundle update x',
    high: 'bundle exec rm -rf x; bundle config set a b; bundle open x; bundle console; bundle exec ruby -e 1',
  },
  {
    names: 'rake',
    values: '-f --rakefile -C --directory',
    tasks: true,
    alone: 'builds',
    code: '-e --execute -E -p --execute-print --execute-continue -r --require',
    refused: databaseTasks,
    medium: 'rake test; rake; rake -T',
    high: 'rake -e 1; rake db:migrate; rake release; rake deploy; rake -r ./x test',
  },
  {
    names: 'rspec rubocop standardrb erblint brakeman reek cucumber minitest sorbet srb steep',
    always: true,
    code: '-r --require -e=code --eval --stdin-code --server-mode',
    medium: 'rspec spec/a_spec.rb; rubocop -A; rspec spec -e name',
    high: 'rspec -r ./x',
  },
  {
    names: 'rails bin/rails ./bin/rails',
    builds:
      'test spec routes db:test:prepare about stats assets:precompile zeitwerk:check generate g server s',
    medium: 'rails test; bin/rails test; rails routes; ./bin/rails test',
    high: 'rails runner 1; rails console; bin/rails db:migrate; rails db:drop; rails dbconsole; rails destroy model x',
  },
  {
    names: 'composer',
    values: '-d --working-dir',
    builds:
      'test run-script run validate show outdated check-platform-reqs dump-autoload dumpautoload diagnose lint analyse',
    network: 'install update require remove audit',
    tasks: true,
    refused:
      'global config exec create-project self-update archive init reinstall browse home fund licenses suggest clear-cache cc bump i u upgrade',
    medium: 'composer test; composer validate; composer dump-autoload',
    online: 'composer install --no-interaction; composer require x/y',
    high: 'composer global require x; composer config a b; composer exec x; composer deploy; composer create-project x',
  },
  {
    names: 'phpunit pest phpstan psalm php-cs-fixer phpcs phpcbf pint phpmd rector',
    always: true,
    code: '--bootstrap-code --prepend',
    medium:
      'phpunit tests; vendor/bin/phpunit --filter a; ./vendor/bin/phpstan analyse; vendor/bin/pint --test',
    high: 'vendor/bin/evil',
  },
];
