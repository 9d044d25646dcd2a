import { parseArgs } from 'node:util';
import { runFaults } from './fault-run.ts';
const { values } = parseArgs({ options: { seed: { type: 'string' }, seconds: { type: 'string' }, nodes: { type: 'string' }, database: { type: 'string' }, broken: { type: 'string' }, calls: { type: 'string' }, faults: { type: 'string' }, quick: { type: 'boolean' }, rest: { type: 'string' } } });
const report = await runFaults({ seed: Number(values.seed ?? 1), ms: Number(values.seconds ?? 20) * 1000, nodes: Number(values.nodes ?? 1), ...(values.broken && { everyMs: 150, faultEveryMs: 1500 }), database: (values.database ?? 'sqlite') as 'sqlite', broken: values.broken as 'lease', calls: values.calls?.split(',') as never, faults: values.faults?.split(',') as never, quickLeases: values.quick, restMs: Number(values.rest ?? 150) * 1000, tell: console.log });
console.log(JSON.stringify(report, null, 1));
