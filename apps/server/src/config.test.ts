import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CountersignError, defaultLimits, limitsOfOperator } from '@countersign/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { environmentName, loadConfig, maskedConfig, settingNames, settings } from './config.ts';
import { serveHelp, settingsTable } from './serve-help.ts';
import { serveOptions } from './serve-program.ts';
import { wordsFor } from './words.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-config-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const env = { XDG_DATA_HOME: '/data' };
const secret = 'x'.repeat(32);

describe('the configuration', () => {
  it('needs nothing, and stays on this machine', () => {
    expect(loadConfig({ env })).toMatchObject({
      host: '127.0.0.1',
      port: 4180,
      database: '/data/countersign/countersign.db',
      publicOrigins: [],
      model: 'manual',
    });
  });

  it('comes from the command line before the environment before the file', () => {
    const file = join(folder, 'c.json');
    writeFileSync(
      file,
      JSON.stringify({ port: 1, host: '127.0.0.2', logLevel: 'debug', corsOrigins: ['https://a.example'] }),
    );
    const config = loadConfig({
      env: { ...env, COUNTERSIGN_PORT: '2', COUNTERSIGN_HOST: 'localhost', COUNTERSIGN_TRUST_PROXY: 'true' },
      file,
      flags: { port: '3' },
    });
    expect(config).toMatchObject({
      port: 3,
      host: 'localhost',
      logLevel: 'debug',
      trustProxy: true,
      corsOrigins: ['https://a.example'],
    });
  });

  it('takes lists with commas, and an empty variable as none', () => {
    const config = loadConfig({
      env: {
        ...env,
        COUNTERSIGN_PUBLIC_ORIGINS: 'https://a.example, https://b.example/',
        COUNTERSIGN_PORT: '',
      },
    });
    expect([config.publicOrigins, config.port]).toEqual([['https://a.example', 'https://b.example'], 4180]);
  });

  it('says everything that is wrong at once', () => {
    const file = join(folder, 'c.json');
    writeFileSync(file, JSON.stringify({ prot: 1, logLevel: 'loud' }));
    const load = () =>
      loadConfig({
        env: {
          COUNTERSIGN_PORT: 'many',
          COUNTERSIGN_AUTH_SECRET: 'short',
          COUNTERSIGN_CORS_ORIGINS: 'https://a.example/path',
        },
        file,
        flags: { host: '0.0.0.0' },
      });
    for (const part of [
      /there is no setting prot/,
      /COUNTERSIGN_PORT: /,
      /logLevel: /,
      /COUNTERSIGN_AUTH_SECRET: /,
      /COUNTERSIGN_CORS_ORIGINS: /,
      /set authSecret or authIssuer first/,
      /publicOrigins/,
    ]) {
      expect(load).toThrow(part);
    }
  });

  it.each([
    [
      'a host that others reach, without a secret',
      { host: '0.0.0.0', publicOrigins: ['https://a.example'] },
      /authSecret/,
    ],
    ['a host that others reach, without its name', { host: '::', authSecret: secret }, /publicOrigins/],
    ['an issuer without an audience', { authIssuer: 'https://i.example' }, /authAudience/],
    ['an audience without an issuer', { authAudience: 'a' }, /authIssuer/],
    ['a head that may take longer than its request', { headersTimeoutSeconds: 61 }, /headersTimeoutSeconds/],
    ['a model of nobody knows where', { model: 'openai-compatible:llama' }, /modelUrl/],
    ['a database that it does not know', { database: 'mysql://db/x' }, /postgres:\/\/ URL/],
    ['a mistyped database', { database: 'postgress://db/x' }, /postgres:\/\/ URL/],
    ['a database in capitals', { database: 'POSTGRES://db/x' }, /postgres:\/\/ URL/],
    ['a model without a provider', { model: 'gpt' }, /--model: must be manual, or/],
    ['a provider without a model', { model: 'anthropic:' }, /--model: must be manual, or/],
    ['a password in an address that is printed', { modelUrl: 'http://u:p@host/v1' }, /no password/],
    ['keys that come from a file', { authJwksUrl: 'file:///etc/keys' }, /--authJwksUrl: /],
    ['an origin that is none', { publicOrigins: ['*'], port: 'x' }, /--port: .*--publicOrigins: /],
  ])('refuses %s', (_what, flags, problem) => {
    expect(() => loadConfig({ env, flags })).toThrow(CountersignError);
    expect(() => loadConfig({ env, flags })).toThrow(problem);
  });

  it.each([[null], [true], [''], [[]], [[1]], ['0x10'], [1.5], ['1e3']])(
    'does not accept %j as a number',
    (port) => {
      const file = join(folder, 'c.json');
      writeFileSync(file, JSON.stringify({ port }));
      expect(() => loadConfig({ env, file })).toThrow(/port: /);
    },
  );

  it.each([
    ['postgres://u:p@ss@host/db', 'postgres://u:[masked]@host/db'],
    ['postgres://u:a/b?c@host/db', 'postgres://u:[masked]@host/db'],
    ['postgresql://host/db?user=u&password=secret&x=1', 'postgresql://host/db?user=u&password=[masked]&x=1'],
    ['postgres://host/db?sslpassword=secret', 'postgres://host/db?sslpassword=[masked]'],
    ['postgres://u@host/db', 'postgres://u@host/db'],
  ])('prints %s without its password', (database, printed) => {
    expect(maskedConfig(loadConfig({ env, flags: { database } })).database).toBe(printed);
  });

  it('[TL-3] lowers and raises limits, and names a bad one (founding documents: local-tool-execution)', () => {
    const limits = (env: Record<string, string>) => limitsOfOperator(loadConfig({ env }));
    expect(limits({})).toEqual(defaultLimits);
    expect(limits({ COUNTERSIGN_COMMAND_TIMEOUT_MS: '600000', COUNTERSIGN_ENTRIES_MAX: '5' })).toEqual({
      ...defaultLimits,
      commandTimeoutMaxSeconds: 600,
      entries: 5,
    });
    expect(limits({ COUNTERSIGN_COMMAND_TIMEOUT_MS: '20000' })).toMatchObject({
      commandTimeoutMaxSeconds: 20,
      commandTimeoutDefaultSeconds: 20,
    });
    for (const [name, value, problem] of [
      ['COUNTERSIGN_COMMAND_TIMEOUT_MS', '1', 'COUNTERSIGN_COMMAND_TIMEOUT_MS: '],
      ['COUNTERSIGN_FILE_SIZE_MAX_BYTES', '999999999999', 'COUNTERSIGN_FILE_SIZE_MAX_BYTES: '],
      ['COUNTERSIGN_FILE_SIZE_MAX_BYTES', '200000000', 'fileSizeMaxBytes: is more than callBodyBytes'],
      [
        'COUNTERSIGN_COMMAND_TIMEOUT_DEFAULT_MS',
        '400000',
        'commandTimeoutDefaultMs: is more than commandTimeoutMs',
      ],
    ] as const)
      expect(() => limits({ [name]: value })).toThrow(problem);
  });

  it('takes a host that others reach once it is safe', () => {
    const flags = { host: '0.0.0.0', publicOrigins: ['https://a.example'], authSecret: secret };
    expect(loadConfig({ env, flags }).host).toBe('0.0.0.0');
  });

  it.each([
    ['is not there', undefined, /cannot be read/],
    ['is not JSON', '{', /is not JSON/],
    ['is no object', '[]', /must hold a JSON object/],
  ])('refuses a file that %s', (_what, text, problem) => {
    const file = join(folder, 'c.json');
    if (text !== undefined) writeFileSync(file, text);
    expect(() => loadConfig({ env, file })).toThrow(problem);
  });

  it('is printed without its secrets', () => {
    const flags = { authSecret: secret, modelKey: 'sk-123', database: 'postgres://me:hunter2@db:5432/x' };
    const printed = maskedConfig(loadConfig({ env: { ...env, ANTHROPIC_API_KEY: 'sk-456' }, flags }));
    expect(printed).toMatchObject({
      authSecret: '[masked]',
      modelKey: '[masked]',
      anthropicKey: '[masked]',
      metricsToken: null,
      database: 'postgres://me:[masked]@db:5432/x',
    });
    expect(JSON.stringify(printed)).not.toMatch(/hunter2|sk-|xxx/);
  });
});

describe('what is said about the settings', () => {
  it('has a reason for each', () => {
    for (const name of settingNames) expect(settings[name].description, name).toMatch(/^.{10,}/);
  });

  it('is listed in countersign serve --help', () => {
    for (const name of settingNames) expect(serveHelp(wordsFor({}))).toContain(environmentName(name));
  });

  it('[UI-4] lists each option and each setting in Russian too', () => {
    const russian = wordsFor({ LANG: 'ru_RU.UTF-8' });
    const untranslated = settingNames.filter((name) => !/[а-яё]{3}/i.test(russian.settings[name] ?? ''));
    expect(untranslated).toEqual([]);
    expect(Object.keys(russian.help.options)).toEqual(Object.keys(serveOptions));
    const typed = (text: string) => text.match(/--[a-z-]+|[A-Z]+_[A-Z_]+/g)?.toSorted();
    expect(typed(serveHelp(russian))).toEqual(typed(serveHelp(wordsFor({}))));
    expect(serveHelp(russian)).toContain('COUNTERSIGN_PORT  (без указания: 4180)');
  });

  it('has the same text in docs/configuration.md', async () => {
    const path = new URL('../../../docs/configuration.md', import.meta.url);
    const marker = 'npx vitest run apps/server/src/config.test.ts -u -->\n';
    const text = readFileSync(path, 'utf8');
    const [before, rest] = text.split(marker) as [string, string];
    const after = rest.slice(rest.indexOf('\n## '));
    await expect(`${before}${marker}${settingsTable()}\n${after}`).toMatchFileSnapshot(path.pathname);
  });
});
