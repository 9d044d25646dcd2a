export { realDisk } from './real-disk.ts';
