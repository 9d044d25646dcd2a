import { afterAll, beforeAll, describe } from 'vitest';
import type { TestDatabase } from '../../../lab/src/test-database.ts';
import { describeDecisions } from './decided-otherwise.ts';
import { describePlan } from './plan-stories.ts';
import { describeStoredCalls } from './stored-call-stories.ts';
import { describeToolHandler } from './tool-handler-stories.ts';
import { describeToolSystem } from './tool-system-stories.ts';
import { describeTools } from './tools-stories.ts';
import { describeWorkflow } from './workflow-stories.ts';
import { World } from './world.ts';

/** Everything that the founding documents promise, tested on the real server with one database. */
export function describeFoundingDocuments(name: string, database: () => Promise<TestDatabase>): void {
  describe(`the founding documents on ${name}`, () => {
    let opened: World;
    beforeAll(async () => {
      opened = await World.open(await database());
    });
    afterAll(() => opened?.close());
    const world = () => opened;
    describeWorkflow(world);
    describePlan(world);
    describeTools(world);
    describeToolSystem(world);
    describeToolHandler(world);
    describeStoredCalls(world, name);
    describeDecisions(world);
  });
}
