import { expect, it } from 'vitest';
import { resultOfAnswer } from './tool-answer.ts';

it('[RN-8] scans invalid picture data only once, however long it is', () => {
  const started = process.cpuUsage();
  const content = ['!', '=\n='].map((end) => ({
    type: 'image',
    mimeType: 'image/png',
    data: `${'\n'.repeat(500_000)}${end}`,
  }));
  const result = resultOfAnswer({ content }, { outputBytes: 1024 ** 2, mask: (text) => text });
  expect(process.cpuUsage(started).user / 1_000).toBeLessThan(20_000);
  expect(result).toMatchObject({ items: [{ left_out: 'it is not base64' }, { encoding: 'base64' }] });
});
