/** The real server on a database with many events. */
import { startServer, tokenFor } from '../bench-server.ts';
import { announceReady, inputOf } from '../processes/program.ts';
import { replayOwner } from './seed.ts';

const { folder } = inputOf<{ folder: string }>();
const { address } = await startServer(folder);
announceReady({ address, token: await tokenFor(replayOwner, 'front_end') });
