import { summarised, visibleName } from '../preview/look.ts';
import type { ToolModule } from '../tool-module.ts';

// The language tools (RN-7). LspExecutor asks language servers, or the editor that contains this runner.

const look = summarised<'diagnostics' | 'symbols' | 'hover' | 'definition' | 'references'>(
  ({ path }) => `Asks the language server about "${visibleName(path)}".`,
);

export const diagnostics: ToolModule<'diagnostics'> = {
  look,
  execute: ({ params }, { signal }, lsp) => lsp.diagnostics(params, signal),
};

export const symbols: ToolModule<'symbols'> = {
  look,
  execute: ({ params }, { signal }, lsp) => lsp.symbols(params, signal),
};

export const hover: ToolModule<'hover'> = {
  look,
  execute: (call, { signal }, lsp) => lsp.hover(call, signal),
};

export const definition: ToolModule<'definition'> = {
  look,
  execute: (call, { signal }, lsp) => lsp.locations(call, signal),
};

export const references: ToolModule<'references'> = {
  look,
  execute: (call, { signal }, lsp) => lsp.locations(call, signal, { context: { includeDeclaration: true } }),
};
