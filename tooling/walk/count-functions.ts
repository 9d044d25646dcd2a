/**
 * Loaded into each process by walk.ts (`--import`). The first SIGUSR2 starts counting which functions run. The second
 * one writes the files of these functions, one on a line, to a file named after the process.
 */
import { writeFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';
import process from 'node:process';

const folder = process.env.COUNTERSIGN_WALK;
const session = new Session();
session.connect();
const counts = (): Promise<Profiler.TakePreciseCoverageReturnType> =>
  new Promise((resolve, reject) =>
    session.post('Profiler.takePreciseCoverage', (error, answer) =>
      error ? reject(error) : resolve(answer),
    ),
  );

let isCounting = false;
process.on('SIGUSR2', async () => {
  const { result } = await counts(); // also resets the counts
  if (isCounting) {
    const files = result
      .filter(({ functions }) =>
        functions.some(({ functionName, ranges }) => functionName && (ranges[0]?.count ?? 0) > 0),
      )
      .map(({ url }) => url);
    writeFileSync(`${folder}/${process.pid}.files`, files.join('\n'));
  } else {
    isCounting = true;
    writeFileSync(`${folder}/${process.pid}.ready`, '');
  }
});
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
writeFileSync(`${folder}/${process.pid}.pid`, '');
