/** A tool of one's own that runs as it is: the deployment of the founding documents, in under 30 lines. */
export const toolTemplate = (name: string): string => `import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createToolServer, defineTool, z } from '@countersign/tool-kit';

const run = promisify(execFile);

const tool = defineTool({
  name: '${name}',
  description: 'Deploys the application to an environment.',
  parameters: z.object({
    environment: z.enum(['staging', 'production']).describe('Where to deploy it.'),
    skip_tests: z.boolean().default(false).describe('Deploy even if the tests were not run.'),
  }),
  async handler({ environment, skip_tests }, { progress, signal }) {
    if (!skip_tests) {
      progress(10, 'Running the tests');
      await run('node', ['--test'], { signal });
    }
    progress(60, \`Deploying to \${environment}\`);
    // Your own command here. It runs in the workspace, without network unless your mcp.json grants it.
    const { stdout } = await run('echo', [\`Deployed to \${environment}.\`], { signal });
    return stdout.trim();
  },
});

createToolServer({ name: '${name}' }).registerTool(tool).start();
`;
