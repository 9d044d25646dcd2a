/** A TLS proxy in front of the server of the tests: `node tls-proxy.mjs KEY CERTIFICATE PORT SERVER_PORT`. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { argv } from 'node:process';
import { createServer } from 'node:tls';

const [key = '', certificate = '', port = '', serverPort = ''] = argv.slice(2);

const proxy = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (client) => {
  const server = connect(Number(serverPort), '127.0.0.1');
  // Report data from the client, so that a test can see that none was sent.
  client.once('data', () => console.log('data'));
  client.on('error', () => server.destroy()).on('close', () => server.destroy());
  server.on('error', () => client.destroy()).on('close', () => client.destroy());
  client.pipe(server).pipe(client);
});
proxy.listen(Number(port), 'localhost', () => console.log('listens'));
