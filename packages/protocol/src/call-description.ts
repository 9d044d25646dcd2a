import type { Preview } from './preview.ts';
import { findTool } from './tools/catalogue.ts';
import type { CallParams } from './tools/definition.ts';
import { visibleLine } from './visible-text.ts';

/** One sentence for the card: who wants to do what (AP-1). Server and runner make the same sentence from the tool's row. */
export function describeCall(
  agent: string,
  tool: string,
  params: CallParams,
  preview: Preview | null = null,
): string {
  const wants = useOf(tool, params, preview)?.wants ?? findTool(tool)?.wants;
  return `${visibleLine(agent)} wants to ${wants?.(params) ?? `use ${visibleLine(tool)}`}`;
}

/** The name by which front ends translate that sentence: the tool's, or that of this use of it. */
export const intentOf = (tool: string, params: CallParams, preview: Preview | null): string =>
  useOf(tool, params, preview)?.intent ?? tool;

const useOf = (tool: string, params: CallParams, preview: Preview | null) =>
  findTool(tool)?.uses?.find(({ applies }) => applies(params, preview));
