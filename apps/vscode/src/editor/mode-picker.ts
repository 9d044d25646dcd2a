import type { Client } from '@countersign/client';
import { type CountersignEvent, type SessionMode, sessionModes } from '@countersign/protocol';
import { approvalWords } from '@countersign/words';
import { window } from 'vscode';
import { said } from '../approvals/request-title.ts';
import type { Words } from '../words.ts';

/** The conversation that the chat shows; `sessionId` is null for one that has no message yet. */
export interface ShownConversation {
  readonly projectId: string;
  readonly sessionId: string | null;
}

export interface ModePickerOptions {
  readonly client: () => Client | undefined;
  readonly words: Words;
  readonly onChange: () => void;
}

/** The mode of the conversation that the chat shows: it is read from the server, and switched there. */
export class ModePicker {
  readonly #options: ModePickerOptions;
  #shown: ShownConversation | undefined;
  #mode: SessionMode = 'ask';

  constructor(options: ModePickerOptions) {
    this.#options = options;
  }

  /** The mode that the first message gives to a new conversation. */
  get next(): SessionMode {
    return this.#shown?.sessionId === null ? this.#mode : 'ask';
  }

  get name(): string {
    return approvalWords[this.#options.words.language].modes[this.#mode].name;
  }

  /** Must be called when the chat shows another conversation. */
  async show(shown: ShownConversation): Promise<void> {
    this.#shown = shown;
    const { projectId: project_id, sessionId } = shown;
    // A conversation that has just begun keeps its mode until the server has answered.
    if (sessionId === null) this.#enter('ask');
    else {
      const listed = await this.#options
        .client()
        ?.listSessions({ params: { project_id } })
        .catch(() => undefined);
      const found = listed?.sessions.find(({ session_id }) => session_id === sessionId);
      if (found && this.#shown === shown) this.#enter(found.mode);
    }
  }

  receive({ event, data }: CountersignEvent): void {
    if (event === 'session.changed' && data.session.session_id === this.#shown?.sessionId)
      this.#enter(data.session.mode);
  }

  async pick(): Promise<void> {
    const { client, words, onChange } = this.#options;
    const shown = this.#shown;
    if (!shown) return;
    const { modes } = approvalWords[words.language];
    const items = sessionModes.map((mode) => ({
      label: `${mode === this.#mode ? '$(check) ' : ''}${modes[mode].name}`,
      detail: modes[mode].means,
      mode,
    }));
    const picked = await window.showQuickPick(items, { title: words.mode.title });
    if (!picked || this.#shown !== shown) return;
    try {
      if (shown.sessionId !== null)
        await client()?.changeSession({
          params: { session_id: shown.sessionId },
          body: { mode: picked.mode },
        });
      this.#enter(picked.mode);
    } catch (error) {
      void window.showErrorMessage(said(error as Error, words));
    }
    onChange();
  }

  #enter(mode: SessionMode): void {
    if (mode === this.#mode) return;
    this.#mode = mode;
    this.#options.onChange();
  }
}
