/** How often both sides of the wire expect a sign of life, and how long the past is kept. */
export const timing = {
  /** A comment line on every stream (EV-4). A client that hears nothing for three times as long reconnects. */
  streamHeartbeatSeconds: 15,
  /** Events can be resumed from for this long (EV-2). */
  eventsKeptDays: 7,
  /** `POST …/runners/{runner_id}/heartbeat` (EX-7). */
  runnerHeartbeatSeconds: 10,
  /** After the last sign of life of a runner, its calls are taken from it (EX-7). */
  runnerLeaseSeconds: 30,
  /** An approval that has not been started by then needs a new one (EX-6). */
  approvalGoodForSeconds: 600,
  /** A call without a runner ends as NO_RUNNER after this (EX-10). */
  runnerWaitSeconds: 60,
} as const;
