/**
 * `node fake-language-server.test-data.ts <behaviour> [file]`: a small language server that behaves in one odd way.
 * It returns all it received as the hover's contents, so that a test can see it.
 */
import { existsSync, writeFileSync } from 'node:fs';

interface Incoming {
  readonly id?: number | string;
  readonly method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: the test's own client writes it
  readonly params?: any;
  readonly result?: unknown;
  readonly error?: { readonly code: number };
}

const [behaviour = 'plain', file = ''] = process.argv.slice(2);
const told: unknown[] = [];
let asked = 0;
let isLoaded = false;

function frame(message: object): Buffer {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]);
}
const send = (message: object): unknown => process.stdout.write(frame(message));
const notify = (method: string, params: unknown): unknown => send({ method, params });

const range = (line: number, from: number, to: number) => ({
  start: { line, character: from },
  end: { line, character: to },
});

function publish(uri: string, version: number | undefined, messages: readonly string[]): void {
  const diagnostics = messages.map((message) => ({ range: range(0, 0, 1), message }));
  notify('textDocument/publishDiagnostics', {
    uri,
    diagnostics,
    ...(version === undefined ? {} : { version }),
  });
}

function answer({ id, method, params }: Incoming): unknown {
  asked += 1;
  const result = (value: unknown): unknown => send({ id, result: value });
  const uri: string = params?.textDocument?.uri ?? '';
  switch (behaviour) {
    case 'crash':
      process.stderr.write('out of luck\n');
      process.exit(3);
      break;
    case 'crash-once':
      if (existsSync(file)) return result({ contents: 'back again' });
      writeFileSync(file, '');
      process.exit(3);
      break;
    case 'hang':
    case 'deaf':
      if (method !== 'shutdown') writeFileSync(`${file}.asked`, '');
      return;
    case 'garbage':
      return process.stdout.write('Segmentation fault\n'.repeat(1_000));
    case 'no-length':
      return process.stdout.write('Content-Type: x\r\n\r\n{}');
    case 'huge':
      return process.stdout.write('Content-Length: 99999999999\r\n\r\n{');
    case 'not-json':
      return process.stdout.write('Content-Length: 3\r\n\r\n{"a');
    case 'cancels-nothing':
      return notify('$/cancelRequest', undefined);
    case 'closed-output':
      return process.stdout.end();
    case 'halves': {
      const bytes = frame({ id, result: { contents: 'in small pieces 😀' } });
      let at = 0;
      const writeNext = () => {
        process.stdout.write(bytes.subarray(at, at + 7));
        at += 7;
        if (at < bytes.length) setTimeout(writeNext, 1);
      };
      return writeNext();
    }
    case 'flood': {
      const noise = frame({ method: 'window/logMessage', params: { type: 3, message: 'x'.repeat(100) } });
      process.stdout.write(Buffer.concat(Array(20_000).fill(noise)));
      return result({ contents: 'after the flood' });
    }
    case 'nonsense':
      for (const message of nonsense) send(message);
      return result({ contents: 'and so on' });
    case 'scalars':
      for (const body of ['null', '5', '"x"', '[]', '{}']) {
        process.stdout.write(`Content-Length: ${body.length}\r\n\r\n${body}`);
      }
      return result({ contents: 'and so on' });
    case 'wrong':
      return result(JSON.parse(file));
    case 'refuses':
      return send({ id, error: { code: -32_603, message: 'no idea' } });
    case 'busy':
      if (asked < 3) return send({ id, error: { code: -32_801, message: 'content modified' } });
      return result({ contents: 'at last' });
    case 'locations':
      return result((JSON.parse(file) as string[]).map((place) => ({ uri: place, range: range(0, 0, 1) })));
    case 'loading':
      // Knows nothing before it is loaded, and a little more with each request after that.
      return result(
        Array.from({ length: isLoaded ? Math.min(asked, 3) : 0 }, () => ({ uri, range: range(0, 0, 1) })),
      );
    default:
      if (method === 'textDocument/hover') return result({ contents: JSON.stringify(told) });
      return result(null);
  }
}

/** Messages that the protocol does not have. */
const nonsense: readonly object[] = [
  { id: {} },
  { id: null, result: 1 },
  { method: 5 },
  { id: 999, result: 1 },
  { id: 'x', error: 'y' },
  { id: 7, method: 'client/registerCapability', params: null },
  { id: 8, method: 'workspace/configuration', params: { items: [null, 5, { section: 5 }] } },
  { method: '$/progress', params: null },
  { method: '$/progress', params: { token: {}, value: null } },
  { method: 'window/logMessage', params: [1] },
  { method: 'window/logMessage' },
  { method: 'textDocument/publishDiagnostics', params: 'x' },
  { method: 'textDocument/publishDiagnostics', params: { uri: 5, diagnostics: {} } },
];

function handle(message: Incoming): unknown {
  const { id, method, params } = message;
  if (method === undefined) return told.push({ id, result: message.result, error: message.error?.code });
  switch (method) {
    case 'initialize': {
      if (behaviour === 'mute') return writeFileSync(`${file}.asked`, '');
      if (behaviour === 'loading') {
        // Announce the work first, so that the client does not take silence for the end of loading.
        notify('$/progress', { token: 't', value: { kind: 'begin', title: 'Indexing' } });
      }
      if (behaviour === 'no-capabilities') return send({ id, result: {} });
      const positionEncoding =
        behaviour === 'utf-32' ? 'utf-32' : behaviour === 'utf-8' ? 'utf-8' : undefined;
      const diagnosticProvider = behaviour === 'wrong';
      return send({ id, result: { capabilities: { positionEncoding, diagnosticProvider } } });
    }
    case 'initialized':
      if (behaviour === 'asks') askEverything();
      if (behaviour === 'loading') {
        send({ id: 'p', method: 'window/workDoneProgress/create', params: { token: 't' } });
        setTimeout(() => {
          isLoaded = true;
          notify('$/progress', { token: 't', value: { kind: 'end' } });
        }, 100);
      }
      return;
    case 'textDocument/didOpen':
    case 'textDocument/didChange': {
      const { uri, version } = params.textDocument;
      told.push({ method, version });
      if (behaviour === 'pushes') {
        publish('file:///elsewhere/x.fake', 1, ['not opened']);
        publish('not a uri', 1, ['nonsense']);
        publish(uri, version - 1, ['of the version before']);
        publish(uri, version, ['syntax']);
        setTimeout(() => publish(uri, version, ['syntax', 'types']), 20);
      }
      if (behaviour === 'pushes-unversioned') publish(uri, undefined, ['types']);
      return;
    }
    case '$/cancelRequest':
      return writeFileSync(`${file}.cancelled`, '');
    case 'textDocument/didClose':
    case 'workspace/didChangeWatchedFiles':
      return told.push({ method, ...params });
    case 'shutdown':
      return behaviour === 'deaf' ? undefined : send({ id, result: null });
    case 'exit':
      return process.exit(0);
    default:
      return answer(message);
  }
}

function askEverything(): void {
  const items = [{ section: 'fake' }, { section: 'fake.deep' }, { section: 'other.deep' }, {}];
  const questions: [string, unknown][] = [
    ['workspace/configuration', { items }],
    ['workspace/workspaceFolders', undefined],
    ['workspace/applyEdit', { edit: {} }],
    ['window/showDocument', { uri: 'https://example.org' }],
    ['window/showMessageRequest', { type: 1, message: 'well?' }],
    ['workspace/semanticTokens/refresh', undefined],
    ['client/registerCapability', { registrations: [null, { id: 'r', method: 'textDocument/x' }] }],
    ['client/unregisterCapability', { unregisterations: [{ id: 'r', method: 'textDocument/x' }] }],
    ['workspace/nonsense', {}],
  ];
  for (const [method, params] of questions) send({ id: method, method, params });
}

let input = Buffer.alloc(0);
process.stdin.on('data', (chunk: Buffer) => {
  input = Buffer.concat([input, chunk]);
  for (;;) {
    const end = input.indexOf('\r\n\r\n');
    if (end === -1) return;
    const length = Number(/Content-Length: (\d+)/.exec(input.toString('latin1', 0, end))?.[1]);
    if (input.length < end + 4 + length) return;
    const body = input.toString('utf8', end + 4, end + 4 + length);
    input = input.subarray(end + 4 + length);
    handle(JSON.parse(body) as Incoming);
  }
});
if (behaviour !== 'deaf') process.stdin.on('end', () => process.exit(0));
else setInterval(() => {}, 1_000);
