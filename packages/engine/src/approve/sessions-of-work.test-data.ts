/**
 * Twenty typical sessions of an agent at work: it looks around, changes files, builds and tests until all is green, and
 * commits. One call per line: `read`, `write` and `edit` with a path; any other line is a shell line. `questions` is
 * how often the person is asked in the mode Ask.
 */
export interface SessionOfWork {
  readonly name: string;
  readonly questions: number;
  readonly calls: string;
}

export const sessionsOfWork: readonly SessionOfWork[] = [
  {
    name: 'fix a failing test in TypeScript',
    questions: 3,
    calls: `
git status && git log --oneline -5
ls -la && cat package.json | head -40
grep -rn "parseDate" src --include="*.ts" | head -20
read src/date.ts
npm test -- --run src/date.test.ts 2>&1 | tail -40
edit src/date.ts
npm test -- --run src/date.test.ts 2>&1 | tail -40
edit src/date.ts
edit src/date.test.ts
npm test -- --run src/date.test.ts 2>&1 | tail -20
npm run lint 2>&1 | tail -20
npm run build 2>&1 | tail -5
npm test 2>&1 | tail -15
git diff --stat
git add -A && git commit -m "fix: read dates with a zone"`,
  },
  {
    name: 'fix a bug in a Python library',
    questions: 2,
    calls: `
find . -name "*.py" -not -path "./.venv/*" | head -50
grep -rn "def rank" src/ | head
sed -n '1,120p' src/metrics/ranking.py
python -m pytest tests/test_ranking.py -x -q 2>&1 | tail -30
edit src/metrics/ranking.py
python -m pytest tests/test_ranking.py -x -q 2>&1 | tail -30
sed -n '80,140p' src/metrics/ranking.py
edit src/metrics/ranking.py
python -m pytest tests/test_ranking.py::test_ties -vv
python -m pytest tests -q 2>&1 | tail -5
git diff
git log --oneline -3 -- src/metrics/ranking.py
python -m pytest tests -q -k "rank and not slow"`,
  },
  {
    name: 'add a command to a Rust program',
    questions: 3,
    calls: `
ls && cat Cargo.toml
rg -n "enum Command" crates | head
cat crates/cli/src/main.rs | head -120
cargo build 2>&1 | tail -20
edit crates/cli/src/main.rs
write crates/cli/src/export.rs
cargo build 2>&1 | grep -E "^(error|warning)" | head -20
edit crates/cli/src/export.rs
cargo build 2>&1 | tail -20
cargo test -p cli 2>&1 | tail -30
edit crates/cli/src/export.rs
cargo test -p cli export -- --nocapture 2>&1 | tail -30
cargo clippy --all-targets -- -D warnings
edit crates/cli/src/export.rs
cargo clippy --all-targets -- -D warnings
cargo fmt --all && git diff --stat
cargo test --workspace 2>&1 | tail -20
git add crates && git commit -m "cli: export as CSV"`,
  },
  {
    name: 'find a race in Go',
    questions: 4,
    calls: `
git log --oneline -10
rg -n "sync.Mutex" --type go
cat internal/cache/cache.go
go build ./... && go vet ./...
go test ./internal/cache/ -race -count=5 2>&1 | tail -40
edit internal/cache/cache.go
go test ./internal/cache/ -race -count=5 2>&1 | tail -40
edit internal/cache/cache.go
go test ./internal/cache/ -run TestExpire -race -v
write internal/cache/cache_test.go
gofmt -l internal
go test ./... 2>&1 | grep -v "no test files"
git diff
git add -A && git commit -m "cache: lock while expiring"`,
  },
  {
    name: 'repair a C program with make',
    questions: 2,
    calls: `
ls -la src include && cat Makefile
grep -n "buffer" src/*.c | head -40
make 2>&1 | tail -20
sed -n '100,180p' src/parse.c
edit src/parse.c
make 2>&1 | grep -E "error|warning"
make test 2>&1 | tail -20
edit src/parse.c
make && make test 2>&1 | tail -20
edit src/lex.c
make clean && make -j4 && make test
git diff --stat && git status --short`,
  },
  {
    name: 'a component in a monorepo with pnpm',
    questions: 4,
    calls: `
cat pnpm-workspace.yaml && ls packages apps
rg -l "Button" packages/ui/src | head
cat packages/ui/src/button.tsx
pnpm install --frozen-lockfile
pnpm --filter ui build
write packages/ui/src/dialog.tsx
edit packages/ui/src/index.ts
write packages/ui/src/dialog.test.tsx
pnpm --filter ui test
edit packages/ui/src/dialog.tsx
pnpm --filter ui test
pnpm lint && pnpm typecheck
edit packages/ui/src/dialog.test.tsx
pnpm -r build 2>&1 | tail -20
pnpm --filter ui test -- --coverage
git add packages/ui && git commit -m "ui: dialog"`,
  },
  {
    name: 'an endpoint in Django',
    questions: 3,
    calls: `
ls backend && cat backend/app/urls.py
grep -n "class .*View" -r backend/app | head -20
read backend/app/views.py
read backend/app/models.py
edit backend/app/models.py
edit backend/app/views.py
edit backend/app/urls.py
.venv/bin/python manage.py makemigrations --check
.venv/bin/python manage.py makemigrations
.venv/bin/python manage.py test 2>&1 | tail -20
edit backend/app/views.py
write backend/app/tests/test_export.py
.venv/bin/python manage.py test app.tests.test_export
edit backend/app/views.py
.venv/bin/python manage.py test 2>&1 | tail -20
git add -A && git commit -m "Export orders as CSV"`,
  },
  {
    name: 'read an unknown project and explain it',
    questions: 0,
    calls: `
ls -la && cat README.md | head -60
find . -maxdepth 2 -type d -not -path '*/node_modules*' -not -path './.git*' | sort
cat package.json | jq '.scripts'
git log --oneline -20 && git shortlog -sn | head
rg -n "createServer|listen\\(" src | head
read src/server.ts
sed -n '1,200p' src/router.ts
grep -rn "process.env" src --include='*.ts' | cut -d: -f1 | sort | uniq -c | sort -rn
wc -l $PWD/README.md
find src -name '*.ts' | xargs wc -l | sort -n | tail -20
git log --since="3 months ago" --name-only --pretty=format: | sort | uniq -c | sort -rn | head -20
for f in src/server.ts src/router.ts; do echo "== $f"; head -20 "$f"; done`,
  },
  {
    name: 'lint and format a Python project',
    questions: 4,
    calls: `
cat pyproject.toml
uv sync --all-extras
uv run ruff check . 2>&1 | tail -40
uv run ruff check . --fix
uv run ruff format .
git diff --stat
edit src/app/config.py
uv run ruff check src/app
edit src/app/io.py
uv run mypy src
edit src/app/io.py
uv run mypy src
uv run pytest -q 2>&1 | tail -10
git add -A && git commit -m "Satisfy ruff and mypy"`,
  },
  {
    name: 'upgrade a dependency in Node',
    questions: 4,
    calls: `
npm outdated
npm ls zod
rg -n "from 'zod'" src | wc -l
npm install zod@4
npx tsc --noEmit 2>&1 | head -30
edit src/schemas/user.ts
edit src/schemas/order.ts
npx tsc --noEmit 2>&1 | head -30
edit src/schemas/order.ts
npx tsc --noEmit
npx vitest run 2>&1 | tail -30
edit src/schemas/user.ts
npx vitest run src/schemas
npx eslint src --fix
npx vitest run 2>&1 | tail -10
git diff package.json`,
  },
  {
    name: 'a page in React, seen by its tests',
    questions: 2,
    calls: `
ls src/components src/pages
cat src/pages/Settings.tsx
rg -n "useSettings" src
write src/components/ThemeSwitch.tsx
write src/components/ThemeSwitch.test.tsx
edit src/pages/Settings.tsx
npx vitest run src/components/ThemeSwitch.test.tsx
edit src/components/ThemeSwitch.tsx
npx vitest run src/components/ThemeSwitch.test.tsx
edit src/styles/theme.css
npx tsc --noEmit && npx eslint src
npx prettier --write src/components/ThemeSwitch.tsx
npx vitest run --coverage
npx playwright test e2e/settings.spec.ts
npx vite build 2>&1 | tail -5`,
  },
  {
    name: 'a service in Java with Gradle',
    questions: 2,
    calls: `
ls && cat build.gradle | head -60
grep -rn "class OrderService" src/main/java
cat src/main/java/app/OrderService.java
./gradlew test --tests "app.OrderServiceTest" 2>&1 | tail -30
edit src/main/java/app/OrderService.java
./gradlew test --tests "app.OrderServiceTest" 2>&1 | tail -30
edit src/main/java/app/OrderRepository.java
edit src/test/java/app/OrderServiceTest.java
./gradlew test --tests "app.OrderServiceTest" 2>&1 | tail -30
./gradlew check
./gradlew build -x test 2>&1 | tail -5
git status --short && git diff --stat`,
  },
  {
    name: 'a model in Ruby on Rails',
    questions: 3,
    calls: `
cat app/models/order.rb
rg -n "Order\\." app spec | head -20
bundle exec rspec spec/models/order_spec.rb
edit app/models/order.rb
bundle exec rspec spec/models/order_spec.rb
edit spec/models/order_spec.rb
bundle exec rspec spec/models/order_spec.rb:42
edit app/models/line_item.rb
bundle exec rspec spec/models
bundle exec rubocop -a app/models
bundle exec rspec
git diff`,
  },
  {
    name: 'move modules of a library',
    questions: 4,
    calls: `
tree -L 2 src
rg -l "utils/" src | wc -l
mkdir -p src/text src/time && git mv src/utils/case.ts src/text/case.ts && git mv src/utils/dates.ts src/time/dates.ts
edit src/index.ts
edit src/app.ts
rg -n "utils/" src
sed -i 's#utils/case#text/case#' src/app.ts src/index.ts
npm run typecheck
edit src/cli.ts
npm run typecheck && npm test
git status --short
npm run build`,
  },
  {
    name: 'write documentation',
    questions: 4,
    calls: `
ls docs && cat docs/README.md
rg -n "export (function|const)" src/api | head -40
read src/api/client.ts
write docs/client.md
edit docs/README.md
write docs/errors.md
edit docs/client.md
edit README.md
npx prettier --check "docs/**/*.md"
npx prettier --write "docs/**/*.md"
git add docs README.md && git commit -m "docs: the client and its errors"`,
  },
  {
    name: 'look for the commit that broke a build, and push the repair',
    questions: 4,
    calls: `
git log --oneline -30
git show HEAD~3 --stat
git diff v1.4.0..HEAD -- src/build.js | head -120
git blame -L 30,60 src/build.js
git log -p -1 -- src/build.js | head -80
npm run build 2>&1 | tail -20
edit src/build.js
npm run build 2>&1 | tail -20
npm test 2>&1 | tail -5
git checkout -b fix/build
git add src/build.js && git commit -m "fix: keep the order of chunks"
git push -u origin fix/build`,
  },
  {
    name: 'numbers from data with a script',
    questions: 3,
    calls: `
ls -lh data && head -3 data/orders.csv
wc -l data/*.csv
cut -d, -f3 data/orders.csv | sort | uniq -c | sort -rn | head
write scripts/summary.py
python3 scripts/summary.py data/orders.csv
edit scripts/summary.py
python3 scripts/summary.py data/orders.csv --by month | head -20
edit scripts/summary.py
python3 scripts/summary.py data/orders.csv --by month > data/summary.csv
column -t -s, data/summary.csv | head -20
python3 scripts/summary.py --help`,
  },
  {
    name: 'CMake and its tests',
    questions: 4,
    calls: `
cat CMakeLists.txt && ls src tests
cmake -B build -S . -DCMAKE_BUILD_TYPE=Debug
cmake --build build -j 8 2>&1 | tail -20
ctest --test-dir build --output-on-failure
edit src/queue.cpp
cmake --build build -j 8 2>&1 | grep -E "error|warning" | head
ctest --test-dir build --output-on-failure
edit tests/queue_test.cpp
cmake --build build -j 8 && ctest --test-dir build --output-on-failure -R queue
edit src/queue.hpp
cmake --build build -j 8 && ctest --test-dir build
git diff --stat`,
  },
  {
    name: 'clean up before a release',
    questions: 4,
    calls: `
git status --short && git branch -a
cat CHANGELOG.md | head -40
git log v2.0.0..HEAD --oneline
edit CHANGELOG.md
npm ls --depth=0
rm -rf dist
npm run build
npm test
npm pack --dry-run
git add CHANGELOG.md && git commit -m "Prepare 2.1.0"`,
  },
  {
    name: 'several small repairs in one long session',
    questions: 4,
    calls: `
git status --short
npm test 2>&1 | tail -40
edit src/a.ts
npm test -- src/a.test.ts
edit src/b.ts
edit src/b.ts
npm test -- src/b.test.ts
git add -A && git commit -m "fix a and b"
rg -n "TODO" src
read src/c.ts
edit src/c.ts
npm run lint -- --fix
npm test
git add -A && git commit -m "fix c"
edit test/d.test.ts
npm test -- test/d.test.ts
edit test/d.test.ts
npm run build && npm test
git log --oneline -5
git add -A && git commit -m "cover d"`,
  },
];
