import type { Logger } from '@countersign/tool-runner';
import { LogLevel, type LogOutputChannel } from 'vscode';

/** Writes the runner's log to an output channel, where the editor filters it by level. */
export function channelLogger(channel: LogOutputChannel): Logger {
  return {
    get isDebugEnabled() {
      return channel.logLevel === LogLevel.Trace || channel.logLevel === LogLevel.Debug;
    },
    debug: (message, details) => channel.debug(message, ...detailsAsText(details)),
    info: (message, details) => channel.info(message, ...detailsAsText(details)),
    error: (message, details) => channel.error(message, ...detailsAsText(details)),
  };
}

const detailsAsText = (details: unknown): unknown[] =>
  details === undefined ? [] : [JSON.stringify(details, asText)];

/** Turns an Error into its text, because `JSON.stringify` would write `{}`. */
const asText = (_key: string, value: unknown): unknown => (value instanceof Error ? String(value) : value);
