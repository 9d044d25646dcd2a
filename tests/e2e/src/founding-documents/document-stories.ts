import { afterAll, beforeAll, describe } from 'vitest';
import type { TestDatabase } from '../../../lab/src/test-database.ts';
import { describeDecisions } from './decided-otherwise.ts';
import { DocumentFixture } from './document-fixture.ts';
import { describePlan } from './plan-stories.ts';
import { describeStoredCalls } from './stored-call-stories.ts';
import { describeToolHandler } from './tool-handler-stories.ts';
import { describeToolSystem } from './tool-system-stories.ts';
import { describeTools } from './tools-stories.ts';
import { describeWorkflow } from './workflow-stories.ts';

/** Everything that the founding documents promise, tested on the real server with one database. */
export function describeFoundingDocuments(name: string, database: () => Promise<TestDatabase>): void {
  describe(`the founding documents on ${name}`, () => {
    let opened: DocumentFixture;
    beforeAll(async () => {
      opened = await DocumentFixture.open(await database());
    });
    afterAll(() => opened?.close());
    const fixture = () => opened;
    describeWorkflow(fixture);
    describePlan(fixture);
    describeTools(fixture);
    describeToolSystem(fixture);
    describeToolHandler(fixture);
    describeStoredCalls(fixture, name);
    describeDecisions(fixture);
  });
}
