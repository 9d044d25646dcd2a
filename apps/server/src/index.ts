export type { AuthenticatedCaller } from './auth/authenticator.ts';
export { type ConfigSources, loadConfig, maskedConfig, type ServerConfig } from './config.ts';
export { createServer, type ServerOptions } from './http/create-server.ts';
export { type AgentParts, type RunningServer, type ServeOptions, serve } from './serve.ts';
