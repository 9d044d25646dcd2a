/** A server as a person would write it, for the tests. */
import { createToolServer, defineTool, z } from './index.ts';

const deploy = defineTool({
  name: 'deploy',
  description: 'Deploys.',
  destructive: true,
  category: 'deployment',
  requires_approval: true,
  parameters: z.object({
    environment: z.enum(['staging', 'production']),
    skip_tests: z.boolean().default(false),
  }),
  async handler({ environment, skip_tests }, { progress }) {
    progress(50, 'half');
    await new Promise((resolve) => setTimeout(resolve, 50));
    return `deployed to ${environment}, tests ${skip_tests ? 'skipped' : 'run'}`;
  },
});

const sum = defineTool({
  name: 'sum',
  description: 'Adds.',
  readOnly: true,
  parameters: {
    type: 'object',
    properties: { numbers: { type: 'array', items: { type: 'number' } } },
    required: ['numbers'],
  },
  handler: ({ numbers }) => ({ sum: (numbers as number[]).reduce((a, b) => a + b, 0) }),
});

const fail = defineTool({
  name: 'fail',
  description: 'Fails.',
  parameters: z.object({}),
  handler() {
    throw new Error('it cannot be done');
  },
});

createToolServer({ name: 'sample' }).registerTool(deploy).registerTool(sum).registerTool(fail).start();
