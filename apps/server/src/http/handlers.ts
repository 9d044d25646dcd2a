import { conversationHandlers } from './handlers/conversation.ts';
import { decisionHandlers } from './handlers/decisions.ts';
import { executionHandlers } from './handlers/executions.ts';
import { permissionHandlers } from './handlers/permissions.ts';
import { runnerHandlers } from './handlers/runner.ts';
import { streamHandlers } from './handlers/streams.ts';
import type { Handlers } from './route-types.ts';
import type { ServerParts } from './server-parts.ts';

/** A handler for every route of the protocol's table. */
export const handlersOf = (parts: ServerParts): Handlers => ({
  ...conversationHandlers(parts),
  ...streamHandlers(parts),
  ...executionHandlers(parts),
  ...runnerHandlers(parts),
  ...decisionHandlers(parts),
  ...permissionHandlers(parts),
});
