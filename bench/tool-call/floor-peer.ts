/** The peer of floor-server.ts: answers each pushed event with a POST. */
import { HttpClient } from '../processes/http-client.ts';
import { announceReady, inputOf } from '../processes/program.ts';
import { fileText } from './contents.ts';

const { address } = inputOf<{ address: string }>();
const http = new HttpClient(address);
const result = { success: true, content: fileText };
await http.listen('/stream', (_event, data) => {
  const { id } = data as { id: string };
  void http.post('/result', { id, result });
});
announceReady();
