import {
  type ApprovalRequest,
  parameterLines,
  previewLines,
  reasonText,
  shellLineOf,
} from '@countersign/approvals';
import { makeVisible, mustShowParameters, type Preview } from '@countersign/protocol';
import type { Words } from '../words.ts';
import { said } from './request-title.ts';

/**
 * The preview and the reasons of a request, as plain text for a dialog, with hidden characters made visible. `maxLines`
 * limits the preview, never the reasons.
 */
export function requestText(
  request: ApprovalRequest,
  words: Words,
  maxLines = Number.POSITIVE_INFINITY,
): string {
  const { preview, reasons } = request;
  const shown = preview ? previewText(preview, words) : words.preview.pending;
  const whole = [...shellLines(request, words), ...shown.split('\n'), ...parametersText(request, words)];
  const what = firstLines(whole, maxLines);
  if (reasons.length === 0) return what.join('\n');
  const why = reasons.map((reason) => `• ${reasonText(reason, said(reason, words))}`);
  return [...what, '', `${words.preview.reasons}:`, ...why].join('\n');
}

/** Characters per line in a dialog; a longer line wraps. */
const lineWidth = 80;

function firstLines(lines: readonly string[], max: number): readonly string[] {
  const kept: string[] = [];
  let left = max;
  for (const line of lines) {
    if (left <= 0) return [...kept, '…'];
    const room = left * lineWidth;
    if (line.length > room) return [...kept, `${line.slice(0, room)}…`];
    kept.push(line);
    left -= Math.max(1, Math.ceil(line.length / lineWidth));
  }
  return kept;
}

function shellLines(request: ApprovalRequest, words: Words): string[] {
  const line = shellLineOf(request);
  return line === undefined ? [] : [`${words.preview.shellLine}:`, ...line.split('\n').map(makeVisible)];
}

/** The parameters, if there is no preview or if the preview does not contain them. */
function parametersText(request: ApprovalRequest, words: Words): string[] {
  const parameters = parameterLines(request);
  if ((request.preview && !mustShowParameters(request.preview)) || parameters.length === 0) return [];
  const lines = parameters.flatMap(({ name, text }) =>
    `${name} = ${text}`.split('\n').map((line) => `  ${makeVisible(line)}`),
  );
  return [`${words.preview.parameters}:`, ...lines];
}

export const previewText = (preview: Preview, words: Words): string =>
  previewLines(preview, words.preview, (text) => said(text, words))
    .map(({ label = '', lead = '', text }) => `${label === '' ? lead : `${label}: `}${text}`)
    .join('\n');
