/** The real server with one person who has many pending approvals. */
import { newId } from '@countersign/engine';
import { newProject, sessionOf, startNode, tokenFor } from '../bench-server.ts';
import { announceReady, inputOf } from '../processes/program.ts';

const { folder, approvals } = inputOf<{ folder: string; approvals: number }>();
const { address, engine, store } = await startNode(`${folder}/countersign.db`, {
  requestsPerSecond: 1_000_000,
  anonymousRequestsPerSecond: 1_000_000,
});
/** At most this many may wait in one session (AG-3). */
const ofSession = 10;
const project = await newProject(store, 'ada', Math.ceil(approvals / ofSession));
for (let place = 0; place < approvals; place += 1)
  await engine.executor.submit({
    userId: project.user_id,
    project,
    sessionId: sessionOf(project, Math.floor(place / ofSession)),
    toolName: 'write_file',
    toolParams: { path: `notes-${place}.md`, content: 'The quick brown fox. '.repeat(20) },
    toolCallId: newId(),
    agent: 'Agent',
    requestedBy: 'bench',
    context: { message_id: null, run_id: null, step: null, excerpt: 'please' },
  });

announceReady({ address, token: await tokenFor(project.user_id, 'front_end') });
