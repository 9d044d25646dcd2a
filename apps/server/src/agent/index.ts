export { createModels, type ModelSettings } from './model-registry.ts';
export { type AgentOptions, startAgent } from './start-agent.ts';
