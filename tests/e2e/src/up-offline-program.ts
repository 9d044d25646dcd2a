/** The whole loop of `countersign up`, for a test that runs it without a network. */
import { Machine } from './up-process.ts';
import { signInAsPerson, wholeLoop } from './up-story.ts';

const machine = new Machine();
const up = machine.up('--json');
try {
  const ready = await up.ready();
  const person = await signInAsPerson(ready);
  console.log(await wholeLoop(person, ready));
  person.close();
  console.log(`ended with ${await up.kill('SIGINT')}`);
} finally {
  await machine.close();
}
