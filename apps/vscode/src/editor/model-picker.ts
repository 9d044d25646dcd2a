import type { Client } from '@countersign/client';
import { type Memento, type QuickPickItem, window } from 'vscode';
import { said } from '../approvals/request-title.ts';
import { isModelName, withRecent } from '../chat/model-names.ts';
import type { Words } from '../words.ts';

export interface ModelPickerOptions {
  readonly client: () => Client | undefined;
  readonly words: Words;
  /** Kept for the workspace. */
  readonly memory: Memento;
  readonly onChange: () => void;
}

const chosenKey = 'countersign.model';
const recentKey = 'countersign.recentModels';

type Item = QuickPickItem & { readonly model: string | null | undefined };

/** Which model the messages of this window go to: the server's, or another one that the person chose. */
export class ModelPicker {
  readonly #options: ModelPickerOptions;
  #default: string | null = null;

  constructor(options: ModelPickerOptions) {
    this.#options = options;
  }

  /** Null for the server's model. */
  get chosen(): string | null {
    return this.#options.memory.get<string | null>(chosenKey, null);
  }

  /** The model that answers; null while it is not known. */
  get name(): string | null {
    return this.chosen ?? this.#default;
  }

  /** Must be called after signing in or out. */
  async readDefault(): Promise<void> {
    const response = await this.#options
      .client()
      ?.getModel()
      .catch(() => undefined);
    this.#default = response?.model ?? null;
    this.#options.onChange();
  }

  async pick(): Promise<void> {
    const { words, memory, client } = this.#options;
    const { model } = words;
    let served: string | null;
    try {
      const response = await client()?.getModel();
      if (!response) return;
      served = response.model;
    } catch (error) {
      return void window.showErrorMessage(said(error as Error, words));
    }
    const recent = memory.get<string[]>(recentKey, []);
    const items: Item[] = [
      ...(served === null ? [] : [{ label: served, description: model.ofServer, model: null }]),
      ...(served === 'manual' ? [] : [{ label: 'manual', description: model.manual, model: 'manual' }]),
      ...recent.filter((name) => name !== served).map((name) => ({ label: name, model: name })),
      { label: model.other, model: undefined },
    ];
    const marked = items.map((item) => {
      const isCurrent = item.model !== undefined && item.model === this.chosen;
      return isCurrent ? { ...item, label: `$(check) ${item.label}` } : item;
    });
    const picked = await window.showQuickPick(marked, { title: model.title });
    if (!picked) return;
    const name = picked.model === undefined ? await this.#askForName() : picked.model;
    if (name === undefined) return;
    if (name !== null && name !== 'manual') await memory.update(recentKey, withRecent(recent, name));
    await memory.update(chosenKey, name);
    this.#options.onChange();
  }

  async #askForName(): Promise<string | undefined> {
    const { model } = this.#options.words;
    const typed = await window.showInputBox({
      title: model.title,
      prompt: model.prompt,
      placeHolder: 'anthropic:claude-sonnet-4-5',
      validateInput: (text) => (isModelName(text.trim()) ? undefined : model.prompt),
    });
    return typed?.trim();
  }
}
