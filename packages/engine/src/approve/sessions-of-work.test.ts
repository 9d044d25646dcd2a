import type { JsonObject } from '@countersign/engine';
import type { OfferedScope } from '@countersign/protocol';
import { digest, EngineFixture, type Listener } from '@countersign/testing';
import { expect, it } from 'vitest';
import { sessionsOfWork } from './sessions-of-work.test-data.ts';

/** The tool call that a line of a session stands for. */
function callOf(line: string): { readonly tool: string; readonly params: JsonObject } {
  const [verb = '', path = ''] = line.split(' ');
  const calls: Readonly<Record<string, { tool: string; params: JsonObject }>> = {
    read: { tool: 'read_file', params: { path } },
    write: { tool: 'write_file', params: { path, content: 'x' } },
    edit: { tool: 'edit_file', params: { path, old: 'a', new: 'b' } },
  };
  return Object.hasOwn(calls, verb)
    ? (calls[verb] as (typeof calls)[string])
    : { tool: 'shell_exec', params: { command: line } };
}

/**
 * The offer that a typical person ticks for this session: changes in a folder, or the widest pattern of a command.
 * Undefined to approve only once: for HIGH calls, and where nothing fits. Never "everything".
 */
function chosen(risk: string, offers: readonly OfferedScope[]): OfferedScope | undefined {
  if (risk === 'HIGH') return undefined;
  return offers.filter(({ scope, label }) => scope === 'class' && !label.startsWith('All calls')).at(-1);
}

/** What the person was asked, in the mode Ask. */
async function questionsOf(calls: readonly string[]): Promise<readonly string[]> {
  const fixture = await EngineFixture.open();
  const runner: Listener = await fixture.listen({ runnerId: 'runner-1' });
  const asked: string[] = [];
  for (const line of calls) {
    const { tool, params } = callOf(line);
    const { approval_id, status } = await fixture.submit(tool, params);
    if (status === 'failed') throw new Error(`refused: ${line}`);
    if (status !== 'awaiting_approval') continue;
    await fixture.preview(approval_id);
    const { risk_level, offered_scopes } = await runner.last('approval.updated');
    const offer = chosen(risk_level, offered_scopes);
    asked.push(`${risk_level} ${line} ⇒ ${offer?.label ?? 'once'}`);
    await fixture.approve(approval_id, {
      digest: digest('a'),
      ...(offer && { scope: offer.scope, ...(offer.pattern !== null && { pattern: offer.pattern }) }),
    });
  }
  fixture.engine.close();
  return asked;
}

it.each(sessionsOfWork)('[AP-4] $name: asks $questions times', async ({ questions, calls }) => {
  const asked = await questionsOf(calls.trim().split('\n'));
  expect({ asked, questions: asked.length }).toEqual({ asked, questions });
});

it('[AP-4] asks at most four times in any session', () => {
  expect(sessionsOfWork).toHaveLength(20);
  expect(sessionsOfWork.filter(({ questions }) => questions > 4)).toEqual([]);
});
