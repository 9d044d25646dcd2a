import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { failedWith } from '../real-disk.ts';
import { type EntryNow, readFlags } from './entry-now.ts';

const PIECE_BYTES = 1024 * 1024;
/** A run of zeros of this length in a file with holes is left out, so that the copy has holes too. */
const HOLE_BYTES = 64 * 1024;
const zeros = Buffer.alloc(HOLE_BYTES);
const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/** What a copy gets besides the content. */
export interface CopyLooks extends Pick<EntryNow, 'mode' | 'size' | 'diskBytes' | 'owner'> {
  readonly mtimeNs: bigint | undefined;
}

/**
 * Copies a file to a new name in pieces, with mode, owner, modification time and holes. Returns the version of what was
 * copied. The time is exact to a microsecond, because Node takes seconds as a floating-point number.
 */
export async function copyContent(
  from: string | Buffer,
  to: string | Buffer,
  looks: CopyLooks,
): Promise<string> {
  const hash = createHash('sha256');
  const source = await open(from, readFlags);
  try {
    const target = await open(to, createFlags, 0o600);
    try {
      const hasHoles = looks.diskBytes < looks.size;
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, Math.max(1, looks.size)));
      let length = 0;
      for (;;) {
        const { bytesRead } = await source.read(piece, 0, piece.length, length);
        if (bytesRead === 0) break;
        const read = piece.subarray(0, bytesRead);
        hash.update(read);
        for (let start = 0; start < bytesRead; ) {
          const step = hasHoles ? HOLE_BYTES : bytesRead;
          const part = read.subarray(start, start + step);
          if (!hasHoles || !part.equals(zeros.subarray(0, part.length)))
            await writeFully(target, part, length + start);
          start += part.length;
        }
        length += bytesRead;
      }
      if (hasHoles) await target.truncate(length);
      // Change the owner before the mode, because chown clears the set-user-id bits.
      await giveTo(target, looks.owner);
      await target.chmod(looks.mode);
      if (looks.mtimeNs !== undefined) {
        const seconds = secondsOf(looks.mtimeNs);
        await target.utimes(seconds, seconds);
      }
      return `sha256:${hash.digest('hex')}`;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

export const secondsOf = (ns: bigint): number => Number(ns / 1000n) / 1e6;

async function writeFully(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** Only root may give a file away: otherwise it stays with the user that runs this process. */
async function giveTo(file: FileHandle, { uid, gid }: EntryNow['owner']): Promise<void> {
  const own = await file.stat();
  if (own.uid === uid && own.gid === gid) return;
  try {
    await file.chown(uid, gid);
  } catch (error) {
    if (!failedWith(error, 'EPERM')) throw error;
  }
}
