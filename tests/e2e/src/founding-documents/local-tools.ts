import { execFile } from 'node:child_process';
import { appendFile, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ToolParams } from './sample-client.ts';

const runFile = promisify(execFile);

/** The sample client's `executeToolLocally`: the documents' four tools, with the results that they list. */
export const executeToolsIn = (workspace: string) => async (toolName: string, params: ToolParams) => {
  switch (toolName) {
    case 'read_file': {
      const content = await readFile(join(workspace, String(params.path)), 'utf8');
      return { success: true, content, encoding: 'utf-8', size: Buffer.byteLength(content) };
    }
    case 'write_file': {
      const path = join(workspace, String(params.path));
      await (params.mode === 'append' ? appendFile : writeFile)(path, String(params.content));
      return { success: true, path: params.path, size: (await stat(path)).size };
    }
    case 'list_directory': {
      const folder = join(workspace, String(params.path));
      const files = (await readdir(folder)).map((name) => ({ name, path: name, type: 'file' }));
      return { success: true, files, total_count: files.length };
    }
    case 'execute_command':
      return executeCommand(workspace, String(params.command), params.args as string[]);
    default:
      throw new Error(`Unknown tool: ${toolName}`);
  }
};

/** A missing program is an error; a program that ran has a result, whatever its exit code. */
async function executeCommand(cwd: string, command: string, args: string[]) {
  try {
    const { stdout } = await runFile(command, args, { cwd });
    return { success: true, stdout, stderr: null, exit_code: 0 };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
    if (typeof code !== 'number') throw new Error(`Command not found: ${command}`);
    return { success: false, stdout, stderr, exit_code: code };
  }
}
