import { meetsExpectation, realDisk, securityCases, temporaryWorkspace } from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { CommandValidator } from './command-validator.ts';

/** Cases that recommend a stricter decision than they require; we follow the recommendation. */
type WithAdvice = { readonly prefer?: string };

describe('[VA-9] security/commands.jsonl', () => {
  for (const example of securityCases('commands')) {
    const { command, args } = example.input;
    it(`[${example.id}] ${command} ${JSON.stringify(args)} is ${example.expect}: ${example.why}`, () => {
      const workspace = temporaryWorkspace();
      try {
        workspace.apply(example.input.setup ?? []);
        const paths = new PathValidator({ root: workspace.root, disk: realDisk });
        const { verdict } = new CommandValidator({ paths }).check(command, workspace.fill(args));
        const { prefer } = example as WithAdvice;
        if (prefer) expect(verdict.decision).toBe(prefer);
        expect(verdict).toSatisfy(() => meetsExpectation(verdict.decision, example.expect));
      } finally {
        workspace.remove();
      }
    });
  }
});
