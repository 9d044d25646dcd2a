export { openInside } from './open-inside.ts';
export { realDisk } from './real-disk.ts';
