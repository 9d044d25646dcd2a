import { ModelError } from '@countersign/engine';
import { AISDKError, APICallError } from 'ai';

/** Failures of ours, or of the conversation, that the same request meets again. */
const lasting = new Set([
  'AI_InvalidPromptError',
  'AI_MissingToolResultsError',
  'AI_UnsupportedFunctionalityError',
  'AI_NoSuchModelError',
  'AI_LoadAPIKeyError',
  'AI_InvalidArgumentError',
]);

/** What went wrong with a model call, for the person: what happened, whether asking again may help, no secrets. */
export function toModelError(error: unknown, model: string): ModelError {
  if (error instanceof ModelError) return error;
  if (APICallError.isInstance(error)) return fromAnswer(error, model);
  const { message, name } = error instanceof Error ? error : { message: String(error), name: '' };
  if (AISDKError.isInstance(error) && lasting.has(name)) {
    return new ModelError(shorten(message), { passing: false, cause: error });
  }
  // Mostly a connection that was cut in mid-stream: it comes as a bare TypeError.
  const problem = message === 'terminated' ? 'the connection was cut' : shorten(message);
  return new ModelError(problem, { passing: true, cause: error });
}

function fromAnswer(error: APICallError, model: string): ModelError {
  const { statusCode, isRetryable: passing } = error;
  const options = { passing, retryAfterMs: retryAfter(error), cause: error };
  switch (statusCode) {
    case undefined:
      return new ModelError(`${model} cannot be reached`, options);
    case 401:
    case 403:
      // The provider's own words may quote the key.
      return new ModelError(`the key for ${model} is not accepted (${statusCode})`, {
        ...options,
        passing: false,
      });
    case 404:
      return new ModelError(`there is no model ${model} at that address (404)`, {
        ...options,
        passing: false,
      });
    case 429:
      return new ModelError('the provider has too many requests (429)', options);
    default:
      return new ModelError(`the provider answered ${statusCode}: ${shorten(error.message)}`, options);
  }
}

/** `Retry-After` in seconds, or in milliseconds as some providers have it; a date is not worth parsing. */
function retryAfter({ responseHeaders = {} }: APICallError): number | undefined {
  const milliseconds = Number(responseHeaders['retry-after-ms'] ?? Number.NaN);
  const seconds = Number(responseHeaders['retry-after'] ?? Number.NaN);
  if (Number.isFinite(milliseconds)) return milliseconds;
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

const shorten = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const short = line.length <= 300 ? line : `${line.slice(0, 299)}…`;
  // It is put into a sentence of ours.
  return short.replace(/\.$/, '') || 'no reason was given';
};
