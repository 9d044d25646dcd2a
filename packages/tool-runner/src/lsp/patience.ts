/** How long is waited for what, in milliseconds. */
export interface Patience {
  /** For one answer of a server. */
  readonly requestMs: number;
  /** For its first ones: a large project is read before they come. */
  readonly firstRequestMs: number;
  /** A server that nobody asked for this long is stopped. */
  readonly idleMs: number;
  /** For a project to be loaded the first time; then answers are given as they are. */
  readonly firstLoadMs: number;
  /** The same after files came or went; a server that does not care says nothing. */
  readonly reloadMs: number;
  /** A server that has said nothing for this long, and announced no work, has loaded its project. */
  readonly quietMs: number;
  /** A server that publishes diagnostics often does so twice: syntax first, types later. */
  readonly settleMs: number;
  /** How long news from another file may take to show in what is published; if nothing comes, nothing changed. */
  readonly doubtMs: number;
  /** For a server to end by itself when it is asked to. */
  readonly goodbyeMs: number;
}

export const defaultPatience: Patience = {
  requestMs: 30_000,
  firstRequestMs: 120_000,
  idleMs: 300_000,
  firstLoadMs: 20_000,
  reloadMs: 3_000,
  quietMs: 250,
  settleMs: 250,
  doubtMs: 1_000,
  goodbyeMs: 2_000,
};
