import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { RemotePerson } from '../../../lab/src/remote-person.ts';
import { until } from '../../../lab/src/waiting.ts';
import { Machine, type ReadyLine, type UpProcess } from '../up-process.ts';
import { takePicture } from './pictures.ts';
import { WebWindow } from './web-window.ts';

export interface WebHomeOptions {
  /** Files of the workspace; without them, the sample workspace. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** The command to run; without it, this checkout's. */
  readonly command?: readonly string[];
}

/** How a device looks. By default English, light and as large as a laptop. */
export type Device = Pick<
  BrowserContextOptions,
  'colorScheme' | 'locale' | 'viewport' | 'isMobile' | 'hasTouch' | 'deviceScaleFactor'
>;

const laptop: Device = { colorScheme: 'light', locale: 'en', viewport: { width: 1280, height: 800 } };
export const phone: Device = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

/** One person's machine with `countersign up`, and the browsers that have the page open. */
export class WebHome {
  readonly #browser: Browser;
  readonly #machine: Machine;
  readonly #folder: readonly string[];
  readonly #contexts: BrowserContext[] = [];
  #up: UpProcess;
  #ready: ReadyLine | undefined;
  #desktop: BrowserContext | undefined;
  #person: RemotePerson | undefined;

  private constructor(browser: Browser, { files, env, command }: WebHomeOptions) {
    this.#browser = browser;
    // Empty: use the page that `up` builds when it is missing or outdated.
    this.#machine = new Machine({ ...env, COUNTERSIGN_WEB_FOLDER: '' }, command);
    this.#folder = files === undefined ? [] : [this.#machine.folder('workspace', files)];
    this.#up = this.#machine.up(...this.#folder, '--json');
  }

  static async open(browser: Browser, options: WebHomeOptions = {}): Promise<WebHome> {
    const home = new WebHome(browser, options);
    await home.#becomeReady();
    return home;
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

  /** The path of the server's database; use it only while the server is down. */
  get database(): string {
    const kept = join(this.#machine.home, '.local/state/countersign');
    const found = readdirSync(kept).map((name) => join(kept, name, 'server/countersign.db'));
    const [database] = found.filter((path) => existsSync(path));
    if (database === undefined) throw new Error('There is no database');
    return database;
  }

  /** Opens a window in the main browser. The first one opens the sign-in link; later ones are signed in. */
  async window(): Promise<WebWindow> {
    const isFirst = this.#desktop === undefined;
    this.#desktop ??= await this.#context(laptop);
    const window = await WebWindow.open(this.#desktop, this.ready.address);
    await window.page.goto(isFirst ? this.ready.sign_in_link : this.ready.address);
    return window;
  }

  /** Opens the page on another device, signed in with its own link. */
  async otherDevice(): Promise<WebWindow> {
    const { sign_in_link } = await this.#machine.up(...this.#folder, '--json').ready();
    const window = await WebWindow.open(await this.#context(laptop), this.ready.address);
    await window.page.goto(sign_in_link);
    return window;
  }

  /** Opens the page with the same sign-in on a device with other properties. */
  async windowOn(device: Device): Promise<WebWindow> {
    if (!this.#desktop) await this.window();
    await this.person(); // ensures the sign-in
    const storageState = await (this.#desktop as BrowserContext).storageState();
    const window = await WebWindow.open(
      await this.#context({ ...laptop, ...device, storageState }),
      this.ready.address,
    );
    await window.page.goto(this.ready.address);
    return window;
  }

  /** A browser that has never signed in. */
  stranger(): Promise<BrowserContext> {
    return this.#context(laptop);
  }

  /** The same person over REST and events, with the browser's token. */
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

  /** Kills everything on the machine at once; `start` starts it again. */
  async killEverything(): Promise<void> {
    await this.#up.kill('SIGKILL');
  }

  async start(): Promise<void> {
    this.#up = this.#machine.up(...this.#folder, '--json');
    await this.#becomeReady();
  }

  /** Ends a story: closes all windows and rejects what is pending. Keeps pictures of a failed story. */
  async endStory({ failed }: { readonly failed: string | null }): Promise<void> {
    const pages = this.#contexts.flatMap((context) => context.pages());
    for (const [index, page] of pages.entries()) {
      if (failed !== null) await keepFailure(page, `failed-${failed.replace(/\W+/g, '-')}-${index}`);
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
    // The first start builds the page, which takes longest on a busy machine.
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

/** The log is often all that is left of a failure: print the page's text, and save a picture. */
async function keepFailure(page: Page, name: string): Promise<void> {
  await takePicture(page, name);
  const seen = await page.locator('body').ariaSnapshot();
  console.log(`${name}.png: ${page.url()} (${await page.title()})\n${seen.slice(-8_000)}`);
}
