export { ApiError } from './api-error.ts';
export { type CallOptions, type Client, type ClientOptions, createClient } from './client.ts';
export { type Clock, systemClock } from './clock.ts';
export type { Connection } from './connection.ts';
export { type ApprovalDecision, type DecisionOutcome, decide } from './decide.ts';
export {
  type ClosedState,
  EventStream,
  openStream,
  type StreamOptions,
  type StreamState,
  type UnknownEvent,
} from './event-stream.ts';
export { MessageText } from './message-text.ts';
export { type ResentMessage, resendMessage } from './resend.ts';
export type { Retries } from './retries.ts';
export type { CallInput, CallName, CallResponse } from './route-types.ts';
