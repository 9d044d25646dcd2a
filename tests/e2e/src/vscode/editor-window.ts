import type { Frame, FrameLocator, Locator, Page } from 'playwright-core';
import { takePicture } from '../web/pictures.ts';

/** Enough for a busy machine. */
export const soon = { timeout: 120_000 };

/** A little more than the half second that a card must be visible (UI-6). */
const attentionMs = 550;

/** One window of VS Code, and what a person does in it. */
export class EditorWindow {
  readonly page: Page;
  /** Console output of the window and its extensions. */
  readonly console: string[] = [];
  readonly #address: string;

  constructor(page: Page, address: string) {
    this.page = page;
    this.#address = address;
    page.on('console', (message) => this.console.push(message.text()));
  }

  async open(folder: string): Promise<void> {
    await this.page.goto(`${this.#address}/?folder=${folder}`);
    await this.status.waitFor();
  }

  /**
   * Opens a multi-root workspace file. On a busy machine the editor sometimes stays without any folder when it reads such
   * a file for the first time: its own explorer is empty too. Then a person would load the page again.
   */
  async openWorkspace(file: string, folder: string): Promise<void> {
    await this.page.goto(`${this.#address}/?workspace=${file}`);
    const inExplorer = this.page.locator('.explorer-folders-view').getByRole('treeitem', { name: folder });
    for (let isOpen = false; !isOpen; ) {
      await this.status.waitFor();
      isOpen = await inExplorer
        .first()
        .waitFor({ timeout: 20_000 })
        .then(
          () => true,
          () => false,
        );
      if (!isOpen) await this.page.reload();
    }
  }

  async reload(): Promise<void> {
    await this.page.reload();
    await this.status.waitFor();
  }

  get status(): Locator {
    return this.page
      .locator('.statusbar-item')
      .filter({ hasText: /Countersign/ })
      .first();
  }

  /** The tooltip of our status bar item. */
  async state(): Promise<string> {
    return (await this.status.locator('a').first().getAttribute('aria-label')) ?? '';
  }

  get input(): Locator {
    return this.page.locator('.quick-input-widget input[type="text"]').first();
  }

  get dialog(): Locator {
    return this.page.locator('.monaco-dialog-box');
  }

  get notifications(): Locator {
    return this.page.locator('.notifications-toasts .notification-toast');
  }

  /** Rows of one of our views. */
  row(view: string, text: string | RegExp): Locator {
    return this.page
      .locator('.pane')
      .filter({ has: this.page.locator('.pane-header').filter({ hasText: view }) })
      .locator('.monaco-list-row')
      .filter({ hasText: text });
  }

  tab(text: string | RegExp): Locator {
    return this.page.locator('.tabs-container .tab').filter({ hasText: text });
  }

  /** A button in the title bar of the open editor. */
  titleButton(name: string): Locator {
    return this.page
      .locator('.editor-actions')
      .getByRole('button', { name: withKey(name) })
      .first();
  }

  /** Folds one of our views, so that the others have its room. */
  async fold(view: string): Promise<void> {
    const header = this.page.locator('.part.sidebar .pane-header.expanded').filter({ hasText: view });
    if ((await header.count()) > 0) await header.first().click();
    await header.waitFor({ state: 'detached' });
  }

  /** A button in the title of our view. */
  viewButton(name: string): Locator {
    return this.page
      .locator('.part.sidebar')
      .getByRole('button', { name: withKey(name) })
      .first();
  }

  /** The title of the chat's view, with its mode and model. */
  viewTitle(text: RegExp): Locator {
    return this.page.locator('.part.sidebar .pane-header').filter({ hasText: text }).first();
  }

  menuItem(name: string): Locator {
    return this.page.locator('.monaco-menu .action-item').filter({ hasText: name });
  }

  /** Chooses an item of the open menu. A menu ignores clicks in its first moments: then click again. */
  async chooseInMenu(name: string): Promise<void> {
    const item = this.menuItem(name);
    await item.waitFor();
    for (let tries = 0; tries < 20; tries += 1) {
      await this.page.waitForTimeout(300);
      await item.click({ timeout: 2_000 }).catch(() => {}); // the menu is gone
      const isGone = await item.waitFor({ state: 'detached', timeout: 2_000 }).then(
        () => true,
        () => false,
      );
      if (isGone) return;
    }
    throw new Error(`The menu stays open at "${name}"`);
  }

  /** The label of the active editor's tab. */
  async activeTab(): Promise<string> {
    const active = this.page.locator('.tabs-container .tab.active').first();
    return (await active.textContent({ timeout: 2_000 }).catch(() => '')) ?? '';
  }

  /** Found by its extension id: other pages of the editor, such as a walkthrough's picture, are web views too. */
  get chat(): FrameLocator {
    const ours = 'iframe.webview.ready[src*="extensionId=countersign.countersign-vscode"]';
    return this.page.frameLocator(ours).frameLocator('#active-frame');
  }

  async command(name: string): Promise<void> {
    const title = name.split(': ').at(-1) as string;
    const found = this.page.locator('.quick-input-list .monaco-list-row.focused').filter({ hasText: title });
    // The palette lists the commands that existed when it opened; a new window registers more.
    for (let tries = 0; tries < 40; tries += 1) {
      await this.page.keyboard.press('F1');
      // Something else may take the focus, which closes the palette.
      const isThere = await this.input
        .fill(`>${name}`, { timeout: 3_000 })
        .then(() => found.waitFor({ timeout: 3_000 }))
        .then(
          () => true,
          () => false,
        );
      if (isThere && (await this.#enter())) return;
      await this.page.keyboard.press('Escape');
    }
    throw new Error(`The palette has no "${name}"`);
  }

  /** Presses Enter. Returns whether the palette got it: on a busy machine something else may have taken the focus. */
  async #enter(): Promise<boolean> {
    await this.page.evaluate(() => {
      const note = ({ target }: Event) => {
        const isPalette = target instanceof Element && target.closest('.quick-input-widget') !== null;
        document.documentElement.toggleAttribute('data-entered', isPalette);
      };
      document.documentElement.removeAttribute('data-entered');
      addEventListener('keydown', note, { capture: true, once: true });
    });
    await this.page.keyboard.press('Enter');
    return this.page.evaluate(() => document.documentElement.hasAttribute('data-entered'));
  }

  /** How long the editor took to load and activate the extension, by its own report. */
  async activationMs(): Promise<number> {
    await this.command('Developer: Show Running Extensions');
    const row = this.page
      .locator('.runtime-extensions-editor .monaco-list-row')
      .filter({ hasText: 'Countersign' })
      .filter({ hasText: /Activation: \d+ms/ });
    const said = (await row.textContent()) ?? '';
    await this.page.keyboard.press('Escape');
    return Number(/Activation: (\d+)ms/.exec(said)?.[1]);
  }

  /** Types into the editor's input box and confirms. */
  async type(text: string): Promise<void> {
    await this.input.waitFor();
    await this.input.fill(text);
    await this.page.keyboard.press('Enter');
  }

  async signIn(link: string): Promise<void> {
    await this.command('Countersign: Sign In');
    await this.type(link);
  }

  async openFile(name: string): Promise<void> {
    const found = this.page.locator('.quick-input-list .monaco-list-row.focused').filter({ hasText: name });
    // The file search runs once for the typed text; one that started before the editor was ready finds nothing.
    for (let tries = 0; tries < 40; tries += 1) {
      await this.page.keyboard.press('F1');
      // Something else may take the focus, which closes the palette.
      const isThere = await this.input
        .fill(name, { timeout: 3_000 })
        .then(() => found.waitFor({ timeout: 3_000 }))
        .then(
          () => true,
          () => false,
        );
      if (isThere && (await this.#enter())) break;
      await this.page.keyboard.press('Escape');
    }
    await this.tab(name).waitFor();
  }

  async trust(): Promise<void> {
    await this.command('Workspaces: Manage Workspace Trust');
    const editor = this.page.locator('.workspace-trust-editor');
    const trusted = editor.locator('.workspace-trust-trusted').first();
    // The editor draws its buttons again while it loads, and a click on an old button is lost: then click again.
    for (let isTrusted = false; !isTrusted; ) {
      await editor.getByRole('button', { name: 'Trust', exact: true }).click();
      isTrusted = await trusted.waitFor({ timeout: 5_000 }).then(
        () => true,
        () => false,
      );
    }
  }

  async openChat(): Promise<void> {
    await this.command('Countersign: Open Chat');
    await this.chat.locator('[data-composer]').waitFor();
  }

  /** Begins one with the chat's own button: a command could arrive when the next message is being typed. */
  async newConversation(): Promise<void> {
    const begin = this.chat.getByTitle('New conversation', { exact: true });
    if (!(await begin.isVisible())) await this.openChat();
    await begin.click();
    await this.chat.locator('.chat-start').waitFor({ state: 'attached' }); // in a low view it has no room
    await this.chat.locator('[data-composer]').fill('');
  }

  /** The text of the message field. */
  draft(): Promise<string> {
    return this.chat.locator('[data-composer]').inputValue();
  }

  /** Looks at something for as long as UI-6 demands. */
  attend(): Promise<void> {
    return this.page.waitForTimeout(attentionMs);
  }

  async say(text: string): Promise<void> {
    await this.newConversation();
    await this.chat.locator('[data-composer]').fill(text);
    await this.chat.getByRole('button', { name: 'Send', exact: true }).click();
  }

  /** The tab of the diff of a file's pending change; another one may still be open, or be about to close. */
  #diff(path: string): Locator {
    return this.tab(`${path}: proposed change`);
  }

  /** Opens the native diff of a pending call, and waits as long as UI-6 demands. `text` finds its row. */
  async review(path: string, text: string | RegExp = path): Promise<void> {
    // A row that is being replaced by a newer request opens nothing: then click again.
    for (let tries = 1; ; tries += 1) {
      await this.row('Pending Approvals', text).click();
      const isOpen = await this.#diff(path)
        .and(this.page.locator('.active'))
        .waitFor({ timeout: 8_000 })
        .then(
          () => true,
          () => false,
        );
      if (isOpen) break;
      if (tries === 15) throw new Error(`The row of ${text} opens no diff`);
    }
    await this.titleButton('Approve').waitFor();
    await this.page.waitForTimeout(attentionMs);
  }

  /**
   * Approves what the diff of a file shows. Repeats if the editor says that it was too quick, because the diff may have changed.
   */
  async approve(path: string): Promise<void> {
    const diff = this.#diff(path);
    for (let tries = 0; tries < 24; tries += 1) {
      await this.titleButton('Approve')
        .click({ timeout: 5_000 })
        .catch(() => {}); // the button is gone with its diff
      const isOver = await diff.waitFor({ state: 'detached', timeout: 5_000 }).then(
        () => true,
        () => false,
      );
      if (isOver) return;
    }
    throw new Error('The diff is still open');
  }

  /** A call that waits: its row in the conversation is the card. */
  card(text: string | RegExp): Locator {
    return this.chat.locator('.transcript [data-approval]').filter({ hasText: text });
  }

  /** Presses a button of a card until the card accepts that it was visible long enough. */
  async pressOnCard(card: Locator, button: string): Promise<void> {
    const pressed = card.getByRole('button', { name: button, exact: true });
    await pressed.hover();
    await this.page.waitForTimeout(attentionMs);
    for (let tries = 0; tries < 60; tries += 1) {
      await pressed.click();
      const isTaken = await pressed.waitFor({ state: 'detached', timeout: 2_000 }).then(
        () => true,
        () => false,
      );
      if (isTaken) return;
    }
    throw new Error(`The card does not take ${button}`);
  }

  /** Lines in the panel that shows output. */
  line(text: string | RegExp): Locator {
    return this.page.locator('.part.panel .view-lines .view-line').filter({ hasText: text });
  }

  /** Chooses a row of a quick pick, after the reading time. */
  async choose(text: string | RegExp): Promise<void> {
    const row = this.page.locator('.quick-input-list .monaco-list-row').filter({ hasText: text }).first();
    await row.waitFor();
    await this.page.waitForTimeout(attentionMs);
    await row.click();
  }

  /** Presses a button of a dialog, after the reading time. */
  async answer(button: string): Promise<void> {
    await this.dialog.waitFor();
    await this.page.waitForTimeout(attentionMs);
    await this.dialog.getByRole('button', { name: button, exact: true }).click();
  }

  /** Opens the walkthrough; returns its ticked steps once there are `count`. */
  async walkthrough(count: number): Promise<string[]> {
    await this.command('Welcome: Open Walkthrough');
    await this.choose('Get started with Countersign');
    const steps = this.page.locator('.getting-started-step');
    await steps.first().waitFor();
    const read = () =>
      steps.evaluateAll((all) =>
        all
          .filter((step) => step.querySelector('.codicon-getting-started-step-checked'))
          .map((step) => step.getAttribute('data-step-id')?.split('#').at(-1) ?? ''),
      );
    let ticked = await read();
    for (let tries = 0; tries < 20 && ticked.length < count; tries += 1) {
      await this.page.waitForTimeout(250);
      ticked = await read();
    }
    await this.picture('walkthrough');
    await this.closeEditors(); // its picture is a web view, like the chat
    return ticked;
  }

  /** The dialog button that Enter would press. */
  async focusedButton(): Promise<string> {
    const focused = this.dialog.locator('.monaco-button:focus');
    await focused.waitFor();
    return (await focused.textContent()) ?? '';
  }

  /** Presses Enter in a dialog, after the reading time. */
  async pressEnterInDialog(): Promise<void> {
    await this.focusedButton();
    await this.page.waitForTimeout(attentionMs);
    await this.page.keyboard.press('Enter');
  }

  /** The text of the active editor. */
  async text(): Promise<string> {
    const lines = await this.page.locator('.editor-instance .view-lines').last().textContent();
    return (lines ?? '').replaceAll('\u00a0', ' ');
  }

  async closeEditors(): Promise<void> {
    await this.command('View: Close All Editors');
  }

  picture(name: string): Promise<void> {
    return takePicture(this.page, `vscode-${name}`);
  }

  /** The frame of the chat page, for direct access. */
  async chatFrame(): Promise<Frame> {
    const element = await this.chat.locator('body').elementHandle();
    const frame = await element?.ownerFrame();
    if (!frame) throw new Error('There is no chat');
    return frame;
  }
}

/** The name of a button in a title bar, which may be followed by its key. */
const withKey = (name: string): RegExp =>
  new RegExp(`^${name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}( \\(.+\\))?$`);
