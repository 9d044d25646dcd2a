// @vitest-environment happy-dom
import { cleanup, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, expect, it } from 'vitest';
import { openPage, settle } from '../page-fixture.test-data.tsx';
import { HistoryScreen } from './history-screen.tsx';

afterEach(cleanup);

it('searches the history for words when the person pauses, and a reset ends the search', async () => {
  const { server, clock } = await openPage(<HistoryScreen projectId="p1" />);
  const sought = () =>
    server.requests
      .filter(({ route }) => route === 'history')
      .map(({ url }) => new URL(url, 'http://page.test').searchParams.get('q'));
  const field = screen.getByRole('searchbox', { name: 'Search' });
  await userEvent.type(field, ' npm test ');
  expect(sought()).toEqual([null]);
  await clock.advance(300);
  await settle();
  expect(sought()).toEqual([null, 'npm test']);
  await userEvent.click(screen.getByRole('button', { name: 'Reset' }));
  await clock.advance(300);
  await settle();
  expect(field).toHaveProperty('value', '');
  await userEvent.type(field, 'x');
  await clock.advance(300);
  await settle();
  expect(sought()).toEqual([null, 'npm test', 'x']);
});
