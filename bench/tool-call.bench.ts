import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureFlush } from './flush-time.ts';
import { compare, type Load, measureInTurns, type Rounds, summaries } from './in-turns.ts';
import type { Measurement } from './measure.ts';
import { Child, type ChildOptions } from './processes/child.ts';
import type { Bench, Comparison, Row } from './results.ts';

const bare = 'bare SSE and POST';
const recorded = 'bare, with records';
const recordedAsked = 'bare, with records and approval';
const mcp = 'MCP tools/call';
const mcpAsked = 'MCP with elicitation';
const ours = 'Countersign';
const oursAsked = 'Countersign with approval';
const ways = { 'one at a time': 1, '32 in flight': 32 } as const;
/** Our promise compared with MCP, one at a time and with 32 in flight. */
const atLeast = { 'one at a time': 1.5, '32 in flight': 3 } as const;
type Way = keyof typeof ways;

/** A tool call from the agent's request to its result, with both sides in processes of their own. */
const toolCallBench: Bench = {
  name: 'a tool call and its answer, between two processes',
  async run(): Promise<readonly Row[]> {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
    const pairs: Pair[] = [];
    try {
      pairs.push(await startPair('floor-server', 'floor-peer'));
      pairs.push(await startPair('mcp-server', 'mcp-client'));
      const options = { input: { folder }, log: join(folder, 'log') };
      pairs.push(await startPair('recorded-floor-server', 'recorded-floor-peer', options));
      pairs.push(await startPair('countersign-server', 'countersign-peer', options));
      const work = new Map<string, string>();
      const rounds = await measureInTurns(loadsOf(pairs as [Pair, Pair, Pair, Pair], work));
      const rows = summaries(rounds).map((row) => withComparisons(row, rounds, work));
      return [...measureFlush(folder), ...rows];
    } finally {
      for (const { first, second } of pairs) {
        await second.stop();
        await first.stop();
      }
      rmSync(folder, { recursive: true });
    }
  },
};
export default toolCallBench;

/** A server and its peer. */
interface Pair {
  readonly first: Child;
  readonly second: Child;
}

async function startPair(first: string, second: string, options?: ChildOptions): Promise<Pair> {
  const program = (name: string) => new URL(`./tool-call/${name}.ts`, import.meta.url);
  const server = await Child.start(program(first), options);
  return { first: server, second: await Child.start(program(second), { input: server.ready }) };
}

/** `work` receives the processor time of each call. */
function loadsOf(
  [floor, mcpPair, recordedFloor, own]: [Pair, Pair, Pair, Pair],
  work: Map<string, string>,
): Record<string, Load> {
  const kinds: [name: string, pair: Pair, caller: Child, kind: string][] = [
    [bare, floor, floor.first, 'plain'],
    [mcp, mcpPair, mcpPair.second, 'plain'],
    [recorded, recordedFloor, recordedFloor.first, 'plain'],
    [ours, own, own.first, 'plain'],
    [mcpAsked, mcpPair, mcpPair.second, 'asked'],
    [recordedAsked, recordedFloor, recordedFloor.first, 'asked'],
    [oursAsked, own, own.first, 'asked'],
  ];
  const loads: Record<string, Load> = {};
  for (const [way, inFlight] of Object.entries(ways)) {
    for (const [kindName, pair, caller, kind] of kinds) {
      const name = `${kindName}, ${way}`;
      loads[name] = async (calls) => {
        const before = await workOf(pair);
        const elapsed = await caller.ask<number>('time', { kind, calls, inFlight });
        const after = await workOf(pair);
        const each = after.map((micros, at) => Math.round((micros - (before[at] ?? 0)) / calls));
        work.set(name, `processor ${each.join(' + ')} µs`);
        return elapsed;
      };
    }
  }
  return loads;
}

/** Processor time of both processes in microseconds. */
async function workOf({ first, second }: Pair): Promise<number[]> {
  const usages = [await first.ask<NodeJS.CpuUsage>('cpu'), await second.ask<NodeJS.CpuUsage>('cpu')];
  return usages.map(({ user, system }) => user + system);
}

function withComparisons(row: Measurement, rounds: Rounds, work: ReadonlyMap<string, string>): Row {
  const place = row.name.lastIndexOf(', ');
  const [name, way] = [row.name.slice(0, place), row.name.slice(place + 2) as Way];
  const note = work.get(row.name) ?? '';
  const against = (to: string, promise?: number): Comparison => ({
    to,
    ...compare(rounds, row.name, `${to}, ${way}`),
    ...(promise !== undefined && { atLeast: promise }),
  });
  const comparisons: Readonly<Record<string, () => Comparison[]>> = {
    [recorded]: () => [against(mcp)],
    [recordedAsked]: () => [against(mcpAsked)],
    [ours]: () => [against(mcp, atLeast[way]), against(recorded), against(bare)],
    [oursAsked]: () => [against(mcpAsked, atLeast[way]), against(recordedAsked), against(bare)],
  };
  return { ...row, comparisons: comparisons[name]?.() ?? [], note };
}
