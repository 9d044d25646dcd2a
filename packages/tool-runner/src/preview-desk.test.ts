import { CountersignError } from '@countersign/protocol';
import { ManualClock, settle } from '@countersign/testing';
import { beforeEach, expect, it } from 'vitest';
import { RecordedApi, RecordedLogger } from './handler-fixture.test-data.ts';
import { PreviewDesk } from './preview-desk.ts';
import type { ApprovalRequest, PreviewReport } from './runner-api.ts';

let api: RecordedApi;
let clock: ManualClock;
let desk: PreviewDesk;
/** Lets the one that is being made be finished. */
let finish: () => void;
beforeEach(() => {
  api = new RecordedApi();
  clock = new ManualClock();
  finish = () => {};
  const report = ({ revision }: ApprovalRequest) =>
    new Promise<PreviewReport>((resolve) => {
      finish = () => resolve({ revision, digest: `sha256:${revision}` } as PreviewReport);
    });
  desk = new PreviewDesk({ api, views: { report }, clock, logger: new RecordedLogger() });
});

const request = (revision = 1, digest: string | null = null) =>
  ({ approval_id: 'a1', revision, digest }) as ApprovalRequest;
const sent = () => api.of<PreviewReport>('preview').map(({ revision }) => revision);
const made = async () => {
  finish();
  await settle();
};

it('[AP-7] sends a preview again until somebody answers, and once', async () => {
  api.failures.preview = [new Error('offline'), new Error('offline')];
  const previewing = desk.preview(request());
  await made();
  await clock.advance(500);
  await clock.advance(1_000);
  await previewing;
  expect(sent()).toEqual([1]);
});

it('[AP-7] makes it once more where it was refused and the request came again meanwhile', async () => {
  // The server had given this runner up; the request is what it says first when the runner is back.
  api.failures.preview = [new CountersignError('NOT_FOUND', { what: 'runner' })];
  const previewing = desk.preview(request());
  await desk.preview(request());
  await made();
  expect(sent()).toEqual([]);
  await made();
  await previewing;
  expect(sent()).toEqual([1]);
});

it('takes the server at its word when nobody asks again', async () => {
  api.failures.preview = [new CountersignError('NOT_FOUND', { what: 'approval' })];
  const previewing = desk.preview(request());
  await made();
  await previewing;
  await clock.advance(60_000);
  expect([sent(), api.of('failed preview').length]).toEqual([[], 1]);
});

it('sends nothing that the server has, nothing of an older revision, and nothing once it was decided', async () => {
  const known = desk.preview(request(1, 'sha256:1'));
  await made();
  await known;
  const older = desk.preview(request(1));
  const finishOlder = finish;
  const newer = desk.preview(request(2));
  finishOlder();
  await made();
  await Promise.all([older, newer]);
  const decided = desk.preview(request(3));
  desk.resolved({ approval_id: 'a1' });
  await made();
  await decided;
  expect(sent()).toEqual([2]);
});
