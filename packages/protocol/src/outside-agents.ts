/** The instructions that an MCP agent gets when it connects, over HTTP or stdio (UI-5). */
export const outsideAgentInstructions =
  "These tools work on a person's own machine. Calls that change something ask that person first, and may take a while: " +
  'an answer with status pending_approval is no failure; go on with wait_for_call. A rejected call carries the ' +
  "person's reason: follow it, and do not repeat the call.";
