/** What we understand, in the protocol's own words: hierarchical symbols, links, diagnostics by either way. */
export const clientCapabilities = {
  // A server that offers whole characters saves the conversion; all of them can count UTF-16 units.
  general: { positionEncodings: ['utf-32', 'utf-16'] },
  window: { workDoneProgress: true },
  workspace: {
    configuration: true,
    workspaceFolders: true,
    // We tell what changed; otherwise servers watch the disk themselves.
    didChangeWatchedFiles: { dynamicRegistration: true, relativePatternSupport: true },
    didChangeConfiguration: { dynamicRegistration: true },
    diagnostics: { refreshSupport: true },
  },
  textDocument: {
    synchronization: {},
    hover: { contentFormat: ['markdown', 'plaintext'] },
    definition: { linkSupport: true },
    references: {},
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    publishDiagnostics: { versionSupport: true },
    diagnostic: { dynamicRegistration: true },
  },
} as const;
