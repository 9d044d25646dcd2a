import { sensitivePlaces } from '@countersign/policy';
import { unsafe } from './repository-layout.ts';

/**
 * Whether a path that git named may be told: sensitive files are left out of every read (VA-2). A path that does not
 * stand below the root comes from an index or a tree that somebody forged: nothing of it is told.
 */
export function mayBeListed(path: Buffer): boolean {
  const text = path.toString('utf8');
  const parts = text.split('/');
  if (text.startsWith('/') || parts.includes('..') || parts.includes('.git')) {
    throw unsafe('its index names files outside the work tree');
  }
  return sensitivePlaces.find(text.endsWith('/') ? text.slice(0, -1) : text) === undefined;
}
