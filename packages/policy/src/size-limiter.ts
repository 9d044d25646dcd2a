import { defaultLimits, type Limits } from '@countersign/protocol';
import { type Refused, refuse } from './verdict.ts';

/** Refuses what is larger or longer than TL-3 allows. Each method answers undefined when it fits. */
export class SizeLimiter {
  readonly limits: Limits;

  constructor(limits: Limits = defaultLimits) {
    this.limits = limits;
  }

  checkFile(path: string, bytes: number): Refused | undefined {
    if (bytes <= this.limits.fileBytes) return undefined;
    const why = `the file is larger than ${this.limits.fileBytes} bytes`;
    return refuse(
      'FILE_TOO_LARGE',
      { path, size: bytes, limit: this.limits.fileBytes },
      { rule: 'SIZE-1', why, operand: path },
    );
  }

  /** `existing` is what the file holds already, when the content is appended. */
  checkContent(path: string, content: string, existing = 0): Refused | undefined {
    const bytes = utf8Length(content) + existing;
    if (bytes <= this.limits.fileBytes) return undefined;
    const why = `the content is larger than ${this.limits.fileBytes} bytes`;
    return refuse(
      'CONTENT_TOO_LARGE',
      { size: bytes, limit: this.limits.fileBytes },
      { rule: 'SIZE-2', why, operand: path },
    );
  }

  checkTimeout(seconds: number): Refused | undefined {
    const limit = this.limits.commandTimeoutMaxSeconds;
    // Nobody asked for the default: where the limit was lowered below it, the runner simply stops earlier.
    if (seconds <= limit || seconds === defaultLimits.commandTimeoutDefaultSeconds) return undefined;
    const why = `it asks for more than ${limit} seconds`;
    return refuse(
      'TIMEOUT_TOO_LONG',
      { timeout: seconds, limit },
      { rule: 'SIZE-3', why, operand: String(seconds) },
    );
  }
}

/** Bytes of a text in UTF-8, without encoding it. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit >= 0xd800 && unit < 0xdc00 && i + 1 < text.length) {
      bytes += 4;
      i++;
    } else bytes += 3;
  }
  return bytes;
}
