export { describeCall } from '@countersign/protocol';
