/** Every command of the manifest. */
export const commandNames = [
  'countersign.signIn',
  'countersign.signOut',
  'countersign.startLocalServer',
  'countersign.openChat',
  'countersign.newConversation',
  'countersign.showPending',
  'countersign.review',
  'countersign.approve',
  'countersign.approveMore',
  'countersign.reject',
  'countersign.cancelCall',
  'countersign.undoCall',
  'countersign.showCall',
  'countersign.refreshHistory',
  'countersign.showCommandOutput',
  'countersign.showLog',
] as const;
export type CommandName = (typeof commandNames)[number];
