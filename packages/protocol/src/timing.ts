/** Intervals and time limits that server, clients and runners agree on. */
export const timing = {
  /** The server sends a comment line on every stream (EV-4). A client reconnects after three intervals of silence. */
  streamHeartbeatSeconds: 15,
  /** How long a client can resume from an event (EV-2). */
  eventsKeptDays: 7,
  /** A runner sends `POST …/runners/{runner_id}/heartbeat` (EX-7). */
  runnerHeartbeatSeconds: 10,
  /** A runner loses its calls after this time without a heartbeat (EX-7). */
  runnerLeaseSeconds: 30,
  /** An approved call that has not started by then needs a new approval (EX-6). */
  approvalGoodForSeconds: 600,
  /** A call ends as NO_RUNNER if no runner connects within this time (EX-10). */
  runnerWaitSeconds: 60,
} as const;
