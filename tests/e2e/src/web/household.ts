import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { RemotePerson } from '../../../lab/src/remote-person.ts';
import { until } from '../../../lab/src/waiting.ts';
import { Machine, type ReadyLine, type UpProcess } from '../up-process.ts';
import { takePicture } from './pictures.ts';
import { WebWindow } from './web-window.ts';

export interface HouseholdOptions {
  /** Files of the person's own workspace; the sample workspace without them. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** How a device looks. English, light and as large as a laptop unless it is said. */
export type Device = Pick<
  BrowserContextOptions,
  'colorScheme' | 'locale' | 'viewport' | 'isMobile' | 'hasTouch' | 'deviceScaleFactor'
>;

const laptop: Device = { colorScheme: 'light', locale: 'en', viewport: { width: 1280, height: 800 } };
export const phone: Device = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

/** One person's machine with `countersign up`, and the browsers in which the page is open. */
export class Household {
  readonly #browser: Browser;
  readonly #machine: Machine;
  readonly #folder: readonly string[];
  readonly #contexts: BrowserContext[] = [];
  #up: UpProcess;
  #ready: ReadyLine | undefined;
  #desktop: BrowserContext | undefined;
  #person: RemotePerson | undefined;

  private constructor(browser: Browser, { files, env }: HouseholdOptions) {
    this.#browser = browser;
    // Empty: the page that `up` itself builds, when it is missing or old.
    this.#machine = new Machine({ ...env, COUNTERSIGN_WEB_FOLDER: '' });
    this.#folder = files === undefined ? [] : [this.#machine.folder('workspace', files)];
    this.#up = this.#machine.up(...this.#folder, '--json');
  }

  static async open(browser: Browser, options: HouseholdOptions = {}): Promise<Household> {
    const household = new Household(browser, options);
    await household.#becomeReady();
    return household;
  }

  get ready(): ReadyLine {
    if (!this.#ready) throw new Error('Nothing is up');
    return this.#ready;
  }

  /** The environment of every program on this machine. */
  get env(): Readonly<Record<string, string>> {
    return this.#machine.env;
  }

  get up(): UpProcess {
    return this.#up;
  }

  /** Where the server keeps everything; for when nobody is up. */
  get database(): string {
    const kept = join(this.#machine.home, '.local/state/countersign');
    const found = readdirSync(kept).map((name) => join(kept, name, 'server/countersign.db'));
    const [database] = found.filter((path) => existsSync(path));
    if (database === undefined) throw new Error('There is no database');
    return database;
  }

  /** The first window opens the sign-in link; others in the same browser are signed in by then. */
  async window(): Promise<WebWindow> {
    const isFirst = this.#desktop === undefined;
    this.#desktop ??= await this.#context(laptop);
    const window = await WebWindow.open(this.#desktop, this.ready.address);
    await window.page.goto(isFirst ? this.ready.sign_in_link : this.ready.address);
    return window;
  }

  /** The page on another device, signed in with a link of its own. */
  async otherDevice(): Promise<WebWindow> {
    const { sign_in_link } = await this.#machine.up(...this.#folder, '--json').ready();
    const window = await WebWindow.open(await this.#context(laptop), this.ready.address);
    await window.page.goto(sign_in_link);
    return window;
  }

  /** The page of the same sign-in, seen with other eyes. */
  async seenOn(device: Device): Promise<WebWindow> {
    if (!this.#desktop) await this.window();
    await this.person(); // signed in by now
    const storageState = await (this.#desktop as BrowserContext).storageState();
    const window = await WebWindow.open(
      await this.#context({ ...laptop, ...device, storageState }),
      this.ready.address,
    );
    await window.page.goto(this.ready.address);
    return window;
  }

  /** A browser that has never been here. */
  stranger(): Promise<BrowserContext> {
    return this.#context(laptop);
  }

  /** The same person by REST and by events, with the token of the browser. */
  async person(): Promise<RemotePerson> {
    if (this.#person) return this.#person;
    let token: string | undefined;
    await until(
      async () => {
        const storage = await this.#desktop?.storageState();
        token = storage?.origins[0]?.localStorage.find(({ name }) => name === 'countersign.token')?.value;
        return token !== undefined;
      },
      { otherwise: () => 'Nobody has signed in' },
    );
    this.#person = await new RemotePerson(this.ready.address, String(token), 'the phone').connect();
    return this.#person;
  }

  /** Everything on the machine is gone at once; `start` brings it back. */
  async loseEverything(): Promise<void> {
    await this.#up.kill('SIGKILL');
  }

  async start(): Promise<void> {
    this.#up = this.#machine.up(...this.#folder, '--json');
    await this.#becomeReady();
  }

  /** Ends a story: closes every window and leaves nothing waiting. Of one that failed, what was seen is kept. */
  async endStory({ failed }: { readonly failed: string | null }): Promise<void> {
    const pages = this.#contexts.flatMap((context) => context.pages());
    for (const [index, page] of pages.entries()) {
      if (failed !== null) await tellWhatIsSeen(page, `failed-${failed.replace(/\W+/g, '-')}-${index}`);
      await page.close();
    }
    if (failed === null || !this.#desktop) return;
    const { client } = await this.person();
    const { approvals } = await client.listApprovals();
    for (const { approval_id, project_id } of approvals) {
      await client.reject({ params: { approval_id, project_id }, body: {} });
    }
  }

  async close(): Promise<void> {
    this.#person?.close();
    await Promise.all(this.#contexts.map((context) => context.close()));
    await this.#machine.close();
  }

  async #becomeReady(): Promise<void> {
    // The first one builds the page, which on a busy machine takes longer than any start.
    await until(() => this.#up.out.includes('\n'), {
      otherwise: () => `It is not ready: ${this.#up.out}${this.#up.errors}`,
    });
    this.#ready = await this.#up.ready();
  }

  async #context(options: BrowserContextOptions): Promise<BrowserContext> {
    const context = await this.#browser.newContext(options);
    context.setDefaultTimeout(120_000);
    this.#contexts.push(context);
    return context;
  }
}

/** A log is often all that is left of a failure: it gets the words of the page, and the picture is kept. */
async function tellWhatIsSeen(page: Page, name: string): Promise<void> {
  await takePicture(page, name);
  const seen = await page.locator('body').ariaSnapshot();
  console.log(`${name}.png: ${page.url()} (${await page.title()})\n${seen.slice(-8_000)}`);
}
