/** The peer of recorded-floor-server.ts: plays the runner, and the person who approves. */
import { HttpClient } from '../processes/http-client.ts';
import { announceReady, inputOf } from '../processes/program.ts';
import { fileText } from './contents.ts';

const { address } = inputOf<{ address: string }>();
const http = new HttpClient(address);
const result = { success: true, content: fileText };

await http.listen('/runner', async (event, data) => {
  const { id, asked } = data as { id: string; asked?: boolean };
  if (event === 'request') await http.post('/preview', { id, diff: fileText });
  if (event !== 'execute') return;
  if (asked) await http.post('/start', { id });
  await http.post('/result', { id, result });
});
await http.listen('/person', async (event, data) => {
  const { id } = data as { id: string };
  if (event === 'approval') await http.post('/approve', { id });
});
announceReady();
