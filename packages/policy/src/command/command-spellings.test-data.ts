/**
 * Spellings beyond the examples of the rules, with the decision that each must get in a workspace at /home/me/project,
 * without a disk. Quotes group words, nothing is expanded. For tests only.
 */
export const spellings: Readonly<Record<'LOW' | 'MEDIUM' | 'HIGH' | 'REJECT', readonly string[]>> = {
  LOW: lines(String.raw`
    grep -e -f README.md
    grep -rn --include=*.ts --exclude-dir=node_modules foo src
    grep -A3 -B 2 -C1 x README.md
    grep -5 x README.md
    grep -n5 x README.md
    grep --color=auto -i --max-count=3 x README.md
    grep -rni x
    grep x -- -f
    grep '../x' README.md
    grep /etc/passwd README.md
    grep -e /etc/hosts README.md
    grep -c .env README.md
    grep --regexp=.env -r src
    grep -rn x --include=*.json --include=*.yml .
    grep --exclude=.env -r x .
    grep x -
    grep -l --null x README.md
    ls
    ls -la --hyperlink=auto
    ls --color
    ls -1 --sort=size src
    ls -lah --time-style=+%F
    ls -I .env
    ls --ignore=*.log -- src
    cat README.md package.json
    cat -
    cat -- README.md
    cat
    cat docs/../README.md
    cat 'docs/my notes.txt'
    cat .env.example
    cat .git/config
    head -c 100 README.md
    head --bytes=10 README.md
    head --lines -5 README.md
    head -20 README.md
    head -5c README.md
    head -qn3 README.md src/app.ts
    tail -5 README.md
    tail +5 README.md
    tail -c +10 README.md
    tail -n+3 README.md
    tail --lines=3 README.md
    wc
    wc -lwc README.md
    wc --lines README.md
    wc --total=never README.md
    find
    find .
    find src tests -type f -size +1k
    find . ( -name '*.js' -o -name '*.ts' ) -not -path './node_modules/*' -print0
    find . -maxdepth 2 -mtime -1 -ls
    find -H src
    find -O3 src -empty
    find . -newermt 2024-01-01
    find . -samefile README.md
    find . ! -name '*.md'
    find . -type f -not -name .env
    find . ! -name .env
    find . -name '*.key' -prune -o -print
    find . -name '*key*'
    find . -name '*token*'
    grep -r x '--include=*.k*'
    grep -r x '--include=*.kt'
    ls -
    find -
    grep -r x -
    wc -
    head -
    tail -
    find -- src
    find . -regex '.*/x'
    find -D tree src
    find . -name '*.json'
    find . -printf '%p /etc\n'
    echo
    echo 'a' -n /etc/passwd
    echo ../..
    echo --help
    pwd
    pwd -P
    pwd --logical
    whoami
    whoami --version
    ls .ssh
    ls -la .env
    git --version
    npm -v
    npm --version
    node -v
    node --version
    python3 --version
    python3 -V
    gcc --version
    date
    date -u
    date +%s
    date -Iseconds
    date --iso-8601=ns
    date -R
    date --rfc-3339=date
    date -d '2020-01-01 +1 day'
    date --date=@0
    date -d/etc/passwd
    date -r README.md
    date -u -d now +%F
  `),
  MEDIUM: lines(`
    date --d=tomorrow
    date -f docs/notes.txt
    grep -f docs/notes.txt README.md
    grep -R x .
    ls -L
    ls --foo
    tail -F logs/app.log
    tail --pid 1 -f logs/app.log
    find -L .
    find . -name .env
    find . -regex '.*/.env'
    find . -iregex '.*/.ENV'
    find . -lname '*.env'
    find . -name .env -prune
    git checkout -
    git checkout README.md
    git rm lib.so
    git mv lib.so docs/lib
    git apply -
    git apply --directory=docs x.patch
    git commit -F -
    git config --blob=HEAD:.gitmodules -l
    git remote remove origin
    npm install express
    locate x
    locate -i --limit 5 x
    locate /etc/passwd
    wc --files0-from=-
    cat -Q README.md
    git status
    git status -sb
    git status --porcelain=v2
    git diff
    git diff HEAD~1 -- src
    git diff --stat main...HEAD
    git diff --name-only origin/main
    git log --oneline -n 5
    git log --graph --all --decorate
    git log --since='2 weeks ago' --author=me
    git log -p -3 -- src/app.ts
    git log -S foo
    git log --pretty=format:'%h %s'
    git log --format='%h'
    git log -L1,5:README.md
    git show
    git show HEAD
    git show HEAD:README.md
    git show --stat abc1234
    git show v1.0:src/app.ts
    git show 'HEAD^{/fix}'
    git show ':/fix the bug'
    git show 'HEAD@{2024-01-01 10:00:00}'
    git add .
    git add -A
    git add -p src
    git add src/app.ts tests
    git commit -m 'x'
    git commit -am 'x'
    git commit --amend --no-edit
    git commit -m /etc/passwd
    git commit -m ../x
    git commit -m .env
    git branch
    git branch -a
    git branch feature/x
    git branch -d x
    git branch -vv
    git branch --show-current
    git checkout main
    git checkout -b feature/x
    git checkout -b x origin/main
    git switch -c x
    git switch main
    git switch -
    git restore --staged src/app.ts
    git merge main
    git merge --no-ff feature/x
    git merge --abort
    git rebase main
    git rebase -i HEAD~3
    git rebase --continue
    git cherry-pick abc1234
    git revert HEAD
    git stash
    git stash push -m 'wip'
    git stash pop
    git stash list
    git stash show -p
    git stash apply stash@{0}
    git stash -u
    git tag
    git tag v1
    git tag -a v1 -m 'x'
    git tag -l v*
    git fetch
    git fetch --all --prune
    git fetch origin main
    git pull
    git pull --rebase origin main
    git clone https://example.com/x.git
    git clone --hardlinks https://example.com/x.git
    git grep -C 3 x src
    git fetch --jobs 4 origin
    git bisect start HEAD v1 -- src
    git bundle verify x.bundle
    git bundle list-heads x.bundle
    git remote set-url origin https://example.com/x.git
    git archive HEAD src
    git notes --ref x show
    git clone https://example.com/x.git docs/x
    git clone git@example.com:a/b.git
    git clone --depth 1 -b main https://example.com/x.git
    git init
    git init -b main
    git remote
    git remote -v
    git remote add origin https://example.com/x.git
    git remote get-url origin
    git reset
    git reset HEAD~1
    git reset --soft HEAD~1
    git reset -- src/app.ts
    git rm README.md
    git rm --cached -r docs
    git mv README.md docs/README.md
    git config user.name
    git config --get remote.origin.url
    git config -l
    git grep -n foo
    git grep foo -- src
    git grep -e ../x
    git grep /etc
    git blame README.md
    git blame -L 1,5 README.md
    git bisect start
    git bisect good
    git bisect bad HEAD
    git worktree list
    git worktree add docs/wt main
    git submodule
    git submodule status
    git apply x.patch
    git apply --check x.patch
    git am x.patch
    git format-patch HEAD~1
    git describe --tags --always
    git rev-parse HEAD
    git rev-parse --abbrev-ref HEAD
    git rev-parse --show-toplevel
    git ls-files
    git ls-files '*.ts'
    git ls-tree -r HEAD
    git ls-remote
    git ls-remote --tags origin
    git cat-file -p HEAD
    git show-ref
    git reflog
    git reflog -5
    git gc
    git fsck
    git notes
    git notes show
    git sparse-checkout list
    git shortlog -sn
    git rev-list --count HEAD
    git merge-base main HEAD
    git --no-pager diff
    git -C src status
    git help commit
    git
    git diff --cached --word-diff
    git diff -w -U10
    git diff README.md docs/guide.md
    git diff --no-index README.md docs/guide.md
    git diff -- ':!package-lock.json'
    git archive --list
    git log origin/main..
    git log ..origin/main
    git diff @{u}
    git count-objects -v
    git check-ignore node_modules
    git diff --exit-code
    git for-each-ref --sort=-committerdate
    npm test
    npm t
    npm start
    npm run
    npm run build
    npm run build -- --watch
    npm run test:unit
    npm run build --silent
    npm run build --workspace=packages/x
    npm run build -w packages/x
    npm ci
    npm i
    npm install
    npm install --save-dev vitest
    npm i -D typescript@5 @types/node
    npm install --no-audit --no-fund
    npm ls --depth=0
    npm list
    npm view react version
    npm outdated
    npm audit
    npm audit --json
    npm update
    npm uninstall x
    npm pack --dry-run
    npm version patch
    npm config get registry
    npm config list
    npm help
    npm init -y
    npm prefix
    npm root
    npm prune
    npm dedupe
    npm explain x
    npm fund
    npm --prefix src test
    npm -C src test
    npm run lint --if-present
    npm ping
    npm whoami
    npm search x
    npm pkg get name
    npm install --ignore-scripts
    npm test --workspaces
    npm i ./src
    npm rebuild
    npm run env
    node src/app.js
    node ./src/app.js --port 3000
    node --test
    node --test tests/app.test.js
    node --check src/app.js
    node -c src/app.js
    node --watch src/app.js
    node --enable-source-maps src/app.js
    node --max-old-space-size=4096 src/app.js
    node --trace-warnings src/app.js
    node --no-warnings src/app.js
    node --run build
    node --help
    node -- src/app.js
    node src/app.js -e dev
    node --experimental-strip-types src/app.ts
    node --test --test-reporter=spec
    node --test --test-name-pattern foo
    node -C development src/app.js
    node .
    node src
    node --conditions=x src/app.js --inspect
    python3 scripts/gen.py
    python3 -u scripts/gen.py
    python3 -I scripts/gen.py
    python3 -W ignore scripts/gen.py
    python3 -Wignore scripts/gen.py
    python3 -X dev scripts/gen.py
    python3 -m unittest
    python3 -m unittest discover -s tests
    python3 -m pytest
    python3 -m pytest -q tests/test_app.py
    python3 -mpytest
    python3 -Bm pytest
    python3 -VV
    python3 -OO scripts/gen.py
    python3 -- scripts/gen.py
    python3 .
    python3 src
    python3 x.zip
    python3 -h
    python3 -bb scripts/gen.py
    python scripts/gen.py -c x
  `),
  HIGH: lines(`
    node --env-file=.env src/app.js
    node --env-file-if-exists=.env.local src/app.js
    git push
    git push -f origin main
    git push --force-with-lease
    git push origin :main
    git reset --hard HEAD
    git clean -fdx
    git branch -D x
    git -c core.pager=id log
    git --config-env core.pager=X log
    git config core.hooksPath x
    git config --local alias.x y
    git config --global user.name x
    git config --replace-all a.b c
    git config a.b ""
    git fetch --upload-pack=id
    git rebase -x id main
    git rebase -ix id main
    git grep -Oid x
    git grep -O x
    git grep -inO x
    git difftool
    git mergetool
    git bisect run id
    git submodule foreach id
    git submodule update --init
    git filter-branch -f
    git log --textconv
    git diff --ext-diff
    git diff --ext
    git diff --output=x
    git log --output x
    git --exec-path=. status
    git -p log
    git --paginate log
    git clone --template=docs https://example.com/x
    git clone -c a.b=c https://example.com/x
    git init --template=docs
    git bundle create x.bundle HEAD
    git archive -o x.zip HEAD
    git archive HEAD --output=x.zip
    git format-patch -o docs HEAD~1
    git stash drop
    git checkout -- .
    git checkout HEAD README.md
    git checkout main src
    git merge-file README.md docs/a.md docs/b.md
    git interpret-trailers --in-place docs/notes.txt
    git checkout-index --prefix=docs/x/ -a
    git lfs pull
    unzip -l archive.zip x.exe
    git clean -f lib.so
    git checkout -f main
    git co main
    git unknown
    git status --unknown
    git --git-dir=.git log
    git --work-tree=. status
    git --bare status
    git daemon
    git send-email x.patch
    git tag -d v1
    git switch --force main
    git switch -f main
    git merge -s evil main
    git pull -s evil
    git rebase -s evil main
    git cherry-pick --strategy=evil HEAD
    git push --receive-pack=id
    git push --exec id
    git ls-remote --upload-pack=id origin
    git cat-file --textconv HEAD:README.md
    git worktree remove -f docs/x
    git --unknown status
    git -x status
    git reflog expire --expire=now --all
    git gc --prune=now
    git update-ref -d HEAD
    git remote frobnicate
    git stash frobnicate
    git gui
    git citool
    git filter-repo
    git archive --remote=origin --exec=id HEAD
    git checkout -B main
    git var -l --x
    git checkout HEAD -- .vscode/settings.json
    npm publish
    npm exec x
    npm x x
    npm exec -c id
    npm init vite
    npm create x
    npm i -g x
    npm install --global x
    npm i --location=global x
    npm link
    npm config set a b
    npm set a b
    npm config edit
    npm token list
    npm unpublish x
    npm --script-shell ./x test
    npm test --script-shell=./x
    npm --node-options=x test
    npm i git+ssh://git@x/y
    npm i github:a/b
    npm i a/b
    npm i http://x/y.tgz
    npm --registry=http://x i
    npm frob
    npm --frob test
    npm pkg set scripts.x=y
    npm explore x
    npm edit x
    npm cache clean
    npm adduser
    npm owner ls
    npm run x --shell=y
    npm --git=./x i
    npm run build -- ../x
    npm deprecate x y
    npm pub
    npm -script-shell=x test
    node -e 1
    node --entry-url file:src/app.js
    python3 --
    node --eval 1
    node -p process.env
    node -pe 1
    node
    node -
    node -i
    node -r ./x.js src/app.js
    node --require ./x.js src/app.js
    node --require=dotenv/config src/app.js
    node --import ./x.js src/app.js
    node --loader=./x.mjs src/app.js
    node --experimental-loader ./x.mjs src/app.js
    node --env-file=settings.conf src/app.js
    node --inspect src/app.js
    node --inspect-brk src/app.js
    node inspect src/app.js
    node --cpu-prof-dir=x src/app.js
    node --frob src/app.js
    node --input-type=module
    node --build-snapshot src/app.js
    node --snapshot-blob x src/app.js
    node --trace-warnings
    node --no-warnings -e 1
    node src/app.js /etc/passwd
    node --experimental_loader=./x.mjs src/app.js
    node --prof src/app.js
    node --openssl-config=x src/app.js
    node --redirect-warnings=x src/app.js
    node --env-file settings.conf src/app.js
    node -rx src/app.js
    node --allow_natives_syntax src/app.js
    python3 -c 1
    python3 -Ic 1
    python3 -
    python3
    python3 -i
    python3 -i scripts/gen.py
    python3 -m venv x
    python3 -m pip install x
    python3 -m http.server
    python3 -mhttp.server
    python3 -Im timeit
    python3 -W ignore -c 1
    python3 -X dev -c 1
    python3 -Xdev -c1
    python3 -u
    python3 -Y scripts/gen.py
    python3 --frob
    python3 scripts/gen.py ../x
    python3 -uSc 1
    gcc main.c
    gcc -o app main.c
    gcc -O2 -Wall -Isrc -Lsrc -lm main.c -o app
    gcc -DX=/etc/passwd main.c
    gcc -c main.c
    gcc -fplugin=./x.so main.c
    gcc -specs=x main.c
    gcc @args
    gcc -B src main.c
    gcc -Wl,-rpath,/usr/lib main.c
    gcc -o .git/hooks/pre-commit main.c
    gcc -std=c11 -march=native main.c
    gcc -x c - -o x
    gcc -MMD -MF x.d main.c
    gcc -E main.c
    gcc -Wl,--gc-sections main.c
    tar tf bundle.tar
    tar xf bundle.tar
    tar -xf bundle.tar -C docs
    tar czf x.tgz src
    tar -czvf x.tgz --exclude=node_modules src
    tar -cf - docs
    tar -C src -cf x.tar app.ts
    tar xf bundle.tar --strip-components=1
    tar -I zstd -xf bundle.tar
    tar --help
    tar
    tar -cf x.tar -T docs/notes.txt
    tar -chf x.tar src
    tar --list --file=bundle.tar
    tar -C src -cf x.tar ../docs
    tar --checkpoint=1 -cf x.tar docs
    tar xf bundle.tar --one-top-level=docs
    tar cf x.tar --transform 's/a/b/' docs
    tar --frob
    zip x.zip README.md
    zip -r x.zip docs
    zip -r x.zip . -x *.git*
    zip -9qr x.zip docs
    zip -r - .
    zip -T x.zip
    zip x.zip -@
    zip -rm x.zip docs
    zip -sf x.zip
    zip -P secret x.zip README.md
    zip --recurse-paths x.zip docs
    zip -d x.zip README.md
    zip -u x.zip README.md
    zip -j x.zip README.md
    zip -ry x.zip docs
    zip -r x.zip docs -i *.md
    zip --frob x.zip README.md
    unzip archive.zip
    unzip -l archive.zip
    unzip -p archive.zip README.md
    unzip -o archive.zip -d docs
    unzip -qo archive.zip
    unzip -d docs archive.zip
    unzip archive.zip -x README.md
    unzip -Z archive.zip
    unzip -P x archive.zip
    unzip -ddocs archive.zip
    unzip archive.zip *.md
  `),
  REJECT: lines(String.raw`
    grep -f/etc/hosts x
    grep -rnf /etc/hosts .
    grep --file=/etc/hosts x
    grep --fil /etc/hosts x
    grep --exclude-from=/etc/hosts -r x .
    tar --exclude-ignore=/etc/hosts -cf x.tar src
    grep x /etc/passwd
    grep -e x ../y
    grep -rn x ..
    grep -r x --include=.env .
    grep -r x --include .env .
    grep -r x --incl=.env* .
    grep -r x '--include=.e?v' .
    grep -r x --include=id_rsa .
    grep x .env
    grep x config/.env.local
    grep --regexp=x /etc/passwd
    grep -m1 x ~/x
    grep -nfREADME.md x /etc/passwd
    grep -f .env README.md
    grep -z x /proc/self/environ
    grep --frob=/etc/x y
    grep -r x --include='*.env' .
    grep -r x --include='.[ef]nv' .
    grep -rh '' --include=.env.* .
    grep -r -e x --include=*.key
    ls /
    ls ..
    ls -la /etc
    ls -d ../*
    ls -- /etc
    ls -w 80 /etc
    ls -T4 /
    cat ../x
    cat /etc/passwd
    cat .env
    cat ./.env
    cat .ENV
    cat src/../../x
    cat -n /etc/passwd
    cat -- ../x
    cat README.md .env
    cat .npmrc
    cat .aws/credentials
    cat server.key
    cat ~/.ssh/id_rsa
    cat C:/x
    cat .git-credentials
    cat /home/me/project-other/x
    cat /home/me/project/../x
    cat .env.production
    head -5c /etc/passwd
    head -n 5 /etc/passwd
    head -5 /etc/passwd
    head --bytes 5 /etc/passwd
    head --bytes=5 ../x
    tail -5c /etc/passwd
    tail -c5 /etc/passwd
    tail -f /var/log/syslog
    tail +1 /etc/passwd
    tail --follow=name /etc/x
    tail -s 1 -f /etc/x
    tail --follow /etc/x
    wc --files0-from=/etc/x
    wc --files0-from ../x
    wc -l ../x
    wc --files0=.env
    find /
    find ..
    find . ..
    find -L /etc
    find / -name x
    find . -exec id ;
    find . -delete
    find . -name x -execdir id +
    find . -okdir id ;
    find . -ok id ;
    find . -fls /tmp/x
    find . -fprintf x y
    find . -fprint x
    find . -fprint0 x
    find . -newer /etc/x
    find . -anewer ../x
    find . -cnewer /x
    find . -neweram /etc/x
    find . -samefile /etc/x
    find -files0-from /etc/x
    find -D exec .. -name x
    find -H /etc
    find -O3 /etc
    find . -size 1 /etc
    find -- /etc
    find . ( -exec id ; )
    find . ! -delete
    find . -type f , -delete
    find .ssh
    find . -samefile .env
    find -P .. -name x
    locate -d /etc/x y
    locate --database=../x y
    locate -d src/x:/etc/x y
    locate -id../x y
    locate --dat=/x y
    date -s now
    date --set=now
    date -s12:00
    date --s=12:00
    date 010100002020
    date -u 0101
    date +%s 0101
    date -f /etc/passwd
    date --file=.env
    date --f=/etc/x
    date -r /etc/x
    date --reference=../x
    date -uf/etc/x
    date -Rr/etc/x
    date --ref=/etc/x
    git -C .. status
    git -C/etc status
    git -C src -C ../.. status
    git --git-dir=/x log
    git --git-dir ../x log
    git --work-tree=.. status
    git --exec-path=/x status
    git diff --no-index /etc/passwd README.md
    git diff -- ../x
    git diff ../x
    git diff /etc/passwd
    git log -- ../x
    git show HEAD:.env
    git show :.env
    git show HEAD:config/.env
    git show HEAD:./.env
    git show HEAD:../x
    git show main:.ssh/id_rsa
    git cat-file -p HEAD:.env
    git cat-file blob HEAD:.env
    git blame .env
    git log -p -- .env
    git log -p .env
    git diff -- .env
    git diff -- ':(glob)**/.env*'
    git diff ':(top).env'
    git diff ':/.env'
    git add .env
    git add -f .env
    git add ../x
    git checkout HEAD -- ../x
    git merge-file README.md /etc/passwd .env
    git merge-file README.md docs/a.md .env
    git interpret-trailers --in-place .env
    git checkout-index --prefix=/tmp/x/ -a
    git checkout-index --prefix=../x/ -a
    git commit-tree -F .env HEAD
    git commit-tree -F.env HEAD
    git frobnicate HEAD:.env
    git lfs track ../x
    git hook run --to-stdin=.env x
    git remote frobnicate /etc/passwd
    git config --blob=HEAD:.env -l
    git config --blob HEAD:.env -l
    git config -f x.exe a.b c
    git apply --directory=../x x.patch
    git apply --directory ../x x.patch
    git am --directory=../x x.patch
    git format-patch --suffix=.exe HEAD~1
    git mv README.md x.exe
    git filter-branch -d /tmp/x
    git checkout HEAD:.env
    ls --foo=.env
    git checkout -- .env
    git log -L1,2:.env
    git log -L :f:../x
    git grep x -- .env
    git grep x HEAD -- .env
    git grep '' -- '.env*'
    git grep -f /etc/passwd
    git grep --no-index x /etc
    git grep --no-index -e x ..
    git apply ../x.patch
    git apply --unsafe-paths x.patch
    git apply --build-fake-ancestor=/x x.patch
    git am /tmp/x
    git commit -F /etc/passwd
    git commit -F/etc/passwd
    git commit --file=../x
    git commit -t /etc/x
    git commit --template=/etc/x
    git commit -F .env
    git commit -aF /etc/passwd
    git tag -F /etc/x v1
    git tag --file ../x v1
    git merge -F /etc/x main
    git notes add -F /etc/x
    git blame --contents /etc/passwd README.md
    git blame --contents=.env README.md
    git blame --ignore-revs-file=/etc/x README.md
    git add --pathspec-from-file=/etc/x
    git add --pathspec-from=../x
    git log --output=/x
    git diff --output ../x
    git diff -O/etc/x
    git diff -O /etc/x
    git archive --output=../x HEAD
    git archive -o/x HEAD
    git archive --add-file=/etc/passwd HEAD
    git clone https://x/y ../z
    git clone https://x/y /z
    git clone ../x docs/x
    git clone /srv/x docs/x
    git clone file:///srv/x docs/x
    git clone 'ext::sh -c id' x
    git clone --separate-git-dir=/x https://x/y
    git clone --reference /x https://x/y
    git clone --template=/x https://x/y
    git init ../x
    git init /x
    git init --template=/x
    git init --separate-git-dir ../x
    git worktree add ../x
    git worktree add -b n ../x
    git worktree move docs/x ../x
    git submodule add ../x
    git submodule add 'ext::id' x
    git bundle create ../x HEAD
    git bundle verify /x
    git format-patch -o .. HEAD
    git format-patch --output-directory=/x HEAD
    git fetch ../x
    git fetch /x
    git pull ../x
    git pull ext::id
    git push ../x
    git push /x
    git push ext::id
    git remote add x ../y
    git remote add x ext::id
    git remote set-url x ext::id
    git ls-remote /x
    git ls-files -X /etc/x
    git ls-files --exclude-from=../x
    git ls-files ../x
    git mv README.md ../x
    git rm ../x
    git rm .env
    git restore ../x
    git clean -f ../x
    git stash push -- ../x
    git stash push .env
    git reset -- ../x
    git config -f /etc/x -l
    git config --file=../x a.b
    git config -f .git-credentials -l
    git hash-object /etc/passwd
    git mergetool -O/etc/x
    git check-ignore ../x
    git shortlog ../x
    git shortlog --committer ../x
    git blame -l ../x
    git annotate -l ../x
    git grep -C 3 x ../y
    git fetch -j 2 ../x
    git -c a=b -C .. status
    git ls-tree HEAD .env
    git archive HEAD .env
    git archive --remote=ext::id HEAD
    git bisect replay /etc/x
    git bundle unbundle /x
    git bundle list-heads ../x
    git submodule set-url x ext::id
    git clone --bundle-uri=../x https://x/y
    grep -r x --include={.env,x} .
    grep -r x --include=.[[:alpha:]]nv .
    grep -r x --include=.[!x]nv .
    node --entry-url file:///x.js
    git show HEAD -- .env
    git rev-list HEAD -- ../x
    git status ../x
    git status -- .env
    git commit .env
    git commit -m x ../y
    git update-index --add ../x
    git diff HEAD:.env HEAD~1:.env
    git show HEAD~1:.npmrc
    git show 'HEAD^{/x}:.env'
    git diff ':/my dir/.env'
    git diff --no-index HEAD~/../../x README.md
    git push --repo=../x
    git fetch --multiple origin ../x
    git show stash@{0}:.env
    git show :0:.env
    git diff -- '\.env'
    git sparse-checkout check-rules --rules-file /etc/x
    git show 'HEAD:.ENV'
    npm --prefix .. test
    npm --prefix=/x test
    npm -C .. test
    npm -C=../x test
    npm -prefix .. test
    npm --pre=1 --prefix ../x test
    npm --userconfig=/etc/x ls
    npm --userconfig .npmrc ls
    npm --globalconfig=../x ls
    npm --cache=/x i
    npm i ../x
    npm i /x
    npm i file:../x
    npm i x@file:../y
    npm pack --pack-destination=..
    npm pack ../x
    npm link ../x
    npm run x -w ../y
    npm --workspace=/x test
    npm publish ../x
    npm --init-module=/x init
    npm --logs-dir=/x test
    npm i ~/x
    npm --node-gyp=/x i
    npm --cafile=/x i
    npm test -- .env
    npm ls --prefix ..
    npm i -gC ..
    npm exec ../x
    npm init ../x
    npm exec --package=../x y
    npm cache add ../x
    npm diff --diff=../x
    node ../x.js
    node /x.js
    node -r ../x.js src/app.js
    node --require=/x.js src/app.js
    node --import=../x.js src/app.js
    node --import=file:///x.js src/app.js
    node --loader /x.mjs src/app.js
    node --env-file=/etc/x src/app.js
    node --env-file ../x src/app.js
    node --cpu-prof-dir=/x src/app.js
    node --check ../x.js
    node --test ../x.js
    node inspect ../x.js
    node --watch-path=/x src/app.js
    node --redirect-warnings=/x src/app.js
    node --diagnostic-dir=.. src/app.js
    node --frob=/etc/x src/app.js
    node -- ../x.js
    node --icu-data-dir=/x src/app.js
    node --build-snapshot-config=/x
    node src/app.js .env
    node --test-reporter=../x --test
    node --test-reporter-destination=/x --test
    python3 ../x.py
    python3 /x.py
    python3 -u ../x.py
    python3 -W ignore /x.py
    python3 -X dev ../x.py
    python3 -- /x.py
    python3 -X pycache_prefix=/x scripts/gen.py
    python3 -Xpycache_prefix=../x scripts/gen.py
    python3 .env
    python3 ..
    python3 -m pytest ../x
    python3 -m pytest /etc
    python3 -m pytest --rootdir=/etc
    python3 -m py_compile /etc/passwd
    python3 -m unittest discover -s /etc
    python3 -m mypy -p../x
    python3 -m json.tool /etc/passwd
    python3 -m zipfile -e x.zip /etc
    python3 -m http.server -d/etc
    python3 -m pytest .env
    python3 -c 1 .env
    gcc /x.c
    gcc ../x.c
    gcc -o ../x main.c
    gcc -o/x main.c
    gcc -shared -fPIC -o libx.so main.c
    gcc -olibx.so main.c
    gcc --output=x.exe main.c
    gcc -Wl,-o,x.exe main.c
    gcc -Wl,-o -Wl,x.dll main.c
    gcc -Xlinker -o -Xlinker x.exe main.c
    gcc -Wl,--output=x.bin main.c
    zip x.exe README.md
    zip -O x.sys x.zip README.md
    tar -cf x.so docs
    tar cf x.SO docs
    tar xf bundle.tar lib.so
    unzip archive.zip x.exe
    git archive -o a.dll HEAD
    git diff --output=x.dylib
    git bundle create x.bin HEAD
    find . -fprint x.so
    node --redirect-warnings=x.so src/app.js
    gcc -I../x main.c
    gcc -I /x main.c
    gcc -L../x main.c
    gcc -isystem /x main.c
    gcc -include /etc/passwd main.c
    gcc -include .env main.c
    gcc -imacros ../x main.c
    gcc -B.. main.c
    gcc -B /x main.c
    gcc -specs=/x main.c
    gcc -fplugin=/x.so main.c
    gcc @/x
    gcc -x c -E .env
    gcc -E -x c /etc/passwd
    gcc -MF ../x main.c
    gcc -wrapper id main.c
    gcc -T /x main.c
    gcc -Wl,-o,/x main.c
    gcc -Wl,-T,../x main.c
    gcc -Wl,-Map=/x main.c
    gcc -Wl,@/x main.c
    gcc -Xlinker /x main.c
    gcc -Wp,-MD,../x main.c
    gcc -Wa,-a=/x main.c
    gcc --sysroot=/x main.c
    gcc -fdump-tree-all=/x main.c
    gcc -fprofile-use=/x main.c
    gcc -iquote.. main.c
    gcc --output=/x main.c
    gcc -dumpdir /x main.c
    gcc -l:../x.a main.c
    gcc -aux-info /x main.c
    gcc -Wl,.env main.c
    gcc -fprofile-dir=/x main.c
    gcc -obj/../../x main.c
    gcc -fdiagnostics-add-output=sarif:file=/x main.c
    gcc '-fmodule-mapper=|id' main.c
    gcc -l :../x.a main.c
    gcc -framework /etc/x main.c
    tar cf ../x.tar docs
    tar -cf /x.tar docs
    tar xf /x.tar
    tar xf bundle.tar -C /
    tar -C.. -xf bundle.tar
    tar --directory=.. -xf bundle.tar
    tar --dir .. -xf bundle.tar
    tar cf x.tar ../y
    tar cf x.tar .env
    tar cf - .env
    tar czf x.tgz .ssh
    tar -cf x.tar -T /etc/x
    tar cfT x.tar /etc/x
    tar -cf x.tar --files=/etc/x
    tar -cf x.tar -X/etc/x docs
    tar -cf x.tar --exclude-fr=../x docs
    tar xf bundle.tar --to-command=id
    tar xf bundle.tar --to-c id
    tar -I id -xf bundle.tar
    tar -Iid -xf bundle.tar
    tar --use-compress-program=./x -xf bundle.tar
    tar -I 'zstd; id' -xf bundle.tar
    tar cf x.tar --checkpoint-action=exec=id docs
    tar cf x.tar --checkpoint-act exec=id docs
    tar cf x.tar -F ./x docs
    tar cMfF x.tar ./x docs
    tar cf x.tar --new-volume-script=x docs
    tar cf host:x docs
    tar -f user@host:x -c docs
    tar --rsh-command=id -tf bundle.tar
    tar --rmt-command=id -tf bundle.tar
    tar xPf bundle.tar
    tar xf bundle.tar -P
    tar -C src -cf x.tar ../../y
    tar xf bundle.tar --one-top-level=../x
    tar -g /x -cf x.tar docs
    tar --index-file=/x -tf bundle.tar
    tar --index /x -tf bundle.tar
    tar --index=/x -tf bundle.tar
    node --es-module-specifier-resolution ../x.js src/app.js
    node --experimental-specifier-resolution /x.js src/app.js
    tar --add-file=/etc/x -cf x.tar
    tar --newer=/etc/x -cf x.tar docs
    tar --mtime=/etc/x -cf x.tar docs
    tar --owner-map=/x -cf x.tar docs
    tar xfC bundle.tar ..
    tar fx /x.tar
    tar xOf bundle.tar .env
    tar --volno-file=/x -cf x.tar docs
    tar xf bundle.tar --wildcards .env*
    zip ../x.zip README.md
    zip /x.zip README.md
    zip x.zip ../y
    zip x.zip /etc/passwd
    zip x.zip .env
    zip -r x.zip ..
    zip x.zip README.md -TT id
    zip x.zip README.md -TTid
    zip x.zip README.md --unzip-command=id
    zip -b /x x.zip README.md
    zip -b/x x.zip README.md
    zip x.zip README.md -O ../y.zip
    zip x.zip README.md --out ../y.zip
    zip x.zip README.md --output-file=/y.zip
    zip -lf /x x.zip README.md
    zip -r x.zip . -i .env
    zip -r x.zip . -i@/etc/x
    zip -r x.zip . -x@../x
    zip -qTT id x.zip README.md
    zip - /etc/passwd
    zip -r x.zip . -i '.env*'
    zip --temp-path=/x x.zip README.md
    zip x.zip -- ../y
    unzip ../x.zip
    unzip /x.zip
    unzip archive.zip -d ..
    unzip archive.zip -d /etc -d docs
    unzip archive.zip -d docs -d /etc
    unzip -l --l archive.zip x.exe
    unzip archive.zip -d/x
    unzip -od .. archive.zip
    unzip -o -d ../x archive.zip
    unzip -p archive.zip .env
    unzip -p archive.zip '.en*'
    unzip -: archive.zip
    unzip -qd /x archive.zip
    unzip -c archive.zip config/.env
    unzip -P x -d .. archive.zip
  `),
};

function lines(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
