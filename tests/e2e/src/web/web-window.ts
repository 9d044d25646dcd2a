import type { BrowserContext, Locator, Page } from 'playwright-core';

/** More than the half second that a card must be in sight and unmoved (UI-6): the page looks ten times a second. */
export const attentionMs = 700;

/** One window with the page, what a person does in it, and its network requests. */
export class WebWindow {
  readonly page: Page;
  /** The URL of every request. */
  readonly asked: string[] = [];
  /** Errors of the page. */
  readonly problems: string[] = [];
  readonly #address: string;
  #timeIsStopped = false;

  private constructor(page: Page, address: string) {
    this.page = page;
    this.#address = address;
    page.on('request', (request) => this.asked.push(request.url()));
    page.on('websocket', (socket) => this.asked.push(socket.url()));
    page.on('pageerror', (error) => this.problems.push(String(error)));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.problems.push(message.text());
    });
  }

  static async open(context: BrowserContext, address: string): Promise<WebWindow> {
    return new WebWindow(await context.newPage(), address);
  }

  get composer(): Locator {
    return this.page.locator('[data-composer]');
  }

  get transcript(): Locator {
    return this.page.getByRole('region', { name: 'Conversation', exact: true });
  }

  /** Pending cards. */
  get waiting(): Locator {
    return this.page.locator('[data-approval][data-waiting]');
  }

  card(words: string | RegExp): Locator {
    return this.page.locator('[data-approval]').filter({ hasText: words });
  }

  /** Rows of calls, also those of decided requests. */
  call(words: string | RegExp): Locator {
    return this.page.locator('.call').filter({ hasText: words });
  }

  /** The button of a row that unfolds it. */
  toggle(words: string | RegExp): Locator {
    return this.call(words).locator('button.call-toggle');
  }

  /** Requests to other hosts than the page's server. */
  get elsewhere(): string[] {
    return this.asked.filter((url) => !url.startsWith(`${this.#address}/`) && !url.startsWith('data:'));
  }

  async go(screen: string): Promise<void> {
    await this.page.evaluate((hash) => {
      window.location.hash = hash;
    }, `#/${screen}`);
  }

  /** Sends a message in a new conversation, or in the open one. */
  async say(text: string, { anew = true } = {}): Promise<void> {
    if (anew) await this.go('chat');
    await this.page.getByText('What should the agent do?').or(this.transcript).first().waitFor();
    await this.composer.fill(text);
    await this.page.getByRole('button', { name: 'Send', exact: true }).click();
  }

  /** Waits until the card is complete, focuses it, and waits as long as UI-6 demands. */
  async look(card: Locator): Promise<void> {
    await this.#complete(card);
    await card.focus();
    await this.wait(attentionMs);
  }

  /** The same with the pointer at the buttons, so that the page need not scroll to reach them. */
  async pointAt(card: Locator): Promise<void> {
    await this.#complete(card);
    await card.locator('.decision').hover();
    await this.wait(attentionMs);
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  /** Removes the focus. */
  async blur(): Promise<void> {
    await this.page.evaluate(() => {
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    });
  }

  /**
   * Stops the page's clock. From now on only `wait` and `page.clock` move it, so that a slow machine cannot turn a key
   * that is too soon into one that is in time. It stops in every window of this browser context.
   */
  async stopTime(): Promise<void> {
    await this.page.clock.install();
    await this.page.clock.pauseAt(Date.now() + 60_000);
    this.#timeIsStopped = true;
  }

  /** Waits as long as a rule demands, by the page's own clock. */
  async wait(ms: number): Promise<void> {
    if (this.#timeIsStopped) return this.page.clock.runFor(ms);
    await this.page.evaluate(
      (wanted) =>
        new Promise<void>((resolve) => {
          const start = performance.now();
          const look = () => (performance.now() - start >= wanted ? resolve() : setTimeout(look, 10));
          look();
        }),
      ms,
    );
  }

  /** A description of the focused element. */
  focused(): Promise<string> {
    return this.page.evaluate(() => {
      const { activeElement } = document;
      if (activeElement?.closest('[data-approval]')) return 'waiting card';
      if (activeElement?.classList.contains('call-toggle')) return 'row';
      return activeElement?.hasAttribute('data-composer')
        ? 'composer'
        : (activeElement?.tagName ?? 'nothing');
    });
  }

  async #complete(card: Locator): Promise<void> {
    await card.locator('.what').waitFor();
    // A preview that arrives later changes the card.
    await card.locator('.what .waiting-line').waitFor({ state: 'detached' });
  }
}
