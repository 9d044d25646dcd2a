import { type Approval, findTool } from '@countersign/protocol';

export type CalledTool = Pick<Approval, 'tool_name' | 'tool_params'>;

/** A shell line as it was written: the programs that run do not tell where their output goes, nor what joins them (AP-7). */
export function shellLineOf({ tool_name, tool_params }: CalledTool): string | undefined {
  const { command } = tool_params;
  return findTool(tool_name)?.category === 'shell' && typeof command === 'string' ? command : undefined;
}

/**
 * Every parameter as text. The caller of a custom tool also chooses the names of its parameters: only a plain name stands
 * by itself, since a name with a line feed would look like a line of the card.
 */
export const parameterLines = ({
  tool_params,
}: CalledTool): { isPlain: boolean; name: string; text: string }[] =>
  Object.entries(tool_params).map(([name, value]) => {
    const isPlain = /^[\w.$-]{1,40}$/.test(name);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return { isPlain, name: isPlain ? name : JSON.stringify(name), text };
  });
