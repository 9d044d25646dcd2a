import type { WireRequest, WireTurn } from '@countersign/testing';
import type { History } from './history.ts';
import { doneLine, markIn } from './marks.ts';
import type { RunDatabase } from './run-database.ts';

/**
 * The agent's model: it reads and changes the file named in the message, then says that it is done. An answer that is
 * stored must not be asked for again (AG-2). One exception: a node that was paused between its last check and its
 * request asks when it resumes, and nothing of that answer is stored.
 */
export function agentModel(
  database: RunDatabase,
  history: History,
  hasJustResumed: (node: number) => boolean,
): (request: WireRequest) => WireTurn {
  return ({ body, headers }) => {
    const node = Number(headers.authorization?.replace('Bearer ', ''));
    const isExcused = hasJustResumed(node);
    const said = body.messages.findLast(({ role }) => role === 'user')?.content;
    const { mark } = markIn(JSON.stringify(said)) ?? { mark: '' };
    const step = body.messages.filter(({ role }) => role === 'assistant').length;
    const wait = findStored(database, mark, step).then(
      (isStored) => {
        if (isStored && !isExcused)
          history.add({
            what: 'wrong',
            problem: `the model was asked again for step ${step} of ${mark}, by node ${node}`,
          });
      },
      () => {}, // unknown while the database is down
    );
    if (step > 0) return [{ wait }, { text: 'It is ' }, { text: 'done.' }];
    const call = (name: string, args: object) => ({ call: { name, args, id: `${name}-${mark}` } });
    return [
      { wait },
      { text: 'I look.' },
      call('read_file', { path: mark }),
      call('write_file', { path: mark, content: `${doneLine}\n`, mode: 'append' }),
    ];
  };
}

/** True if this answer is stored; false where two runs had the same message and cannot be told apart. */
async function findStored(database: RunDatabase, mark: string, step: number): Promise<boolean> {
  const complete = database.url.startsWith('postgres') ? 'a.complete' : 'a.complete = 1';
  const rows = await database.query(
    `select u.run_id as run, (select count(*) from messages a where a.run_id = u.run_id and a.role = 'assistant'
        and ${complete}) as answers from messages u where u.role = 'user' and u.content like $1`,
    `%${mark}%`,
  );
  return rows.length === 1 && Number(rows[0]?.answers) > step;
}
