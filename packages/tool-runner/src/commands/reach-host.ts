import { digestOfCall } from '../preview/look.ts';
import type { ToolModule } from '../tool-module.ts';

/** Lets a running command reach a host that its card did not name (RN-5). Its connection waits at the network gate. */
export const reachHost: ToolModule<'reach_host'> = {
  look(call, decision, { workspace, heldHosts }) {
    const { host, tool_id } = call.params;
    heldHosts?.requireWaiting(tool_id, host);
    return {
      digest: digestOfCall(call, decision, workspace),
      draw: () => ({
        kind: 'summary',
        summary: `The running command waits to connect to ${host}, which its card did not name. Everything that the command reads could be sent there.`,
      }),
    };
  },
  async execute({ params: { host, tool_id } }, _, { heldHosts }) {
    heldHosts?.allow(tool_id, host);
    return { success: true, host };
  },
};
