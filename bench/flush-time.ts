import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Measurement, measure } from './measure.ts';

const page = Buffer.alloc(4096, 'x');
const pages = 256;

/** The least time that the disk takes for a commit: overwrite 4 KiB and flush. */
export function measureFlush(folder: string): readonly Measurement[] {
  const file = openSync(join(folder, 'flush'), 'w');
  try {
    for (let at = 0; at < pages; at += 1) writeSync(file, page, 0, page.length, at * page.length);
    let at = 0;
    const flushWith = (flush: (file: number) => void) => () => {
      writeSync(file, page, 0, page.length, (at++ % pages) * page.length);
      flush(file);
    };
    return measure(
      {
        'the disk: fsync of 4 KiB': flushWith(fsyncSync),
        'the disk: fdatasync of 4 KiB': flushWith(fdatasyncSync),
      },
      { batches: 60, batchMs: 5, warmUpMs: 50 },
    );
  } finally {
    closeSync(file);
  }
}
