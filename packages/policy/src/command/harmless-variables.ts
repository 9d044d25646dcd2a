/**
 * Variables that a grant by program leaves free (AP-4). Any other may configure the program or what it starts:
 * `GIT_TRACE` writes a file, `PYTEST_ADDOPTS` loads a plug-in, `NPM_CONFIG_NODE_OPTIONS` loads a script. No list of such
 * names could be complete, so the list is of those that only change what is shown or which mode a project runs in.
 */
const harmlessVariables: ReadonlySet<string> = new Set(
  `CI TZ LANG LANGUAGE TERM COLORTERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE DEBUG VERBOSE LOG_LEVEL
  PORT NODE_ENV NODE_NO_WARNINGS NODE_DEBUG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING
  PYTHONUTF8 PYTHONFAULTHANDLER GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
  GIT_COMMITTER_DATE GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS`.split(/\s+/),
);

export const isHarmlessVariable = (name: string): boolean =>
  harmlessVariables.has(name) || /^LC_[A-Z]+$/.test(name);
