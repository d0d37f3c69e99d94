// A vendor's page as a person uses it: what they press and what they read.

import assert from 'node:assert/strict';
import { PATIENCE } from './patience.mjs';

/** A conversation that the server does not know yet is asked for once. */
const UNKNOWN = /the server responded with a status of 404/;

/** What a browser and a client say of requests that find no server. */
const LOST = /net::ERR_|network|Failed to fetch|Failed to load resource|stream|connect/i;

/** How the pages ask for their conversation. */
const HISTORY = /\/messages\?dialect=|\/chat\?(?:profile=[^&]*&)?(conversationId|threadId)=|\/agent\/[^/]+\/connect/;

/** How CopilotKit asks what its runtime has. */
const RUNTIME = /\/v1\/ag-ui\/info/;

/** Lines that are not part of the conversation. */
const ASIDE = /^(\d+:\d+ [AP]M|Response complete|Assistant is responding|Sending|Stop|Regenerate|Clear|Edit)$/;

export class Page {
  #expected = [UNKNOWN];
  #kind;

  /** What it asked servers for, in order. */
  requests = [];

  constructor(tab, kind, conversation) {
    this.tab = tab;
    this.name = kind.name;
    this.#kind = kind;
    this.conversation = conversation;
    if (kind.expects) this.expect(kind.expects);
    tab.on('request', (request) => {
      if (!['fetch', 'xhr'].includes(request.resourceType())) return;
      const entry = { method: request.method(), url: request.url(), body: request.postData() ?? undefined };
      this.requests.push(entry);
      const note = (status) => (entry.status = status);
      request.response().then((response) => note(response?.status()), note);
    });
  }

  /** How many requests with a body it sent. */
  get posts() {
    return this.requests.filter(({ method }) => method === 'POST').length;
  }

  /** From here on the console may say this. */
  expect(text) {
    this.#expected.push(text);
  }

  expectLoss() {
    this.expect(LOST);
  }

  isExpected(text) {
    return this.#expected.some((expected) => expected.test(text));
  }

  async open(url) {
    await this.tab.addInitScript(watch);
    await this.#load(() => this.tab.goto(url));
  }

  async reload() {
    await this.#load(() => this.tab.reload());
  }

  /** A page is loaded when it has its history: MUI's page drops earlier messages. */
  async #load(load) {
    const asks = this.#kind.history && this.conversation !== null;
    const first = (response) => HISTORY.test(response.url()) || (RUNTIME.test(response.url()) && !response.ok());
    const history = asks ? this.tab.waitForResponse(first) : undefined;
    await load();
    const response = await history;
    // Without its runtime the page would wait forever.
    if (response && RUNTIME.test(response.url())) throw new Error(`${response.url()} answered ${response.status()}`);
    // A page reads no body of a refusal, one that is not read does not finish, and one that is a stream does later.
    if (response?.ok() && /json/.test(response.headers()['content-type'])) await response.finished();
    await this.input.waitFor();
  }

  async close() {
    await this.tab.context().close();
  }

  get input() {
    return this.tab.getByRole('textbox').last();
  }

  /** Sends a text; a page that is busy takes one when it is not. */
  async say(text) {
    await this.input.fill(text);
    const send = this.tab.locator('form:has([name=text]) button');
    if ((await send.count()) > 0) await send.and(this.tab.locator(':enabled')).waitFor();
    const before = this.requests.length;
    await this.input.press('Enter');
    // A composer that is busy ignores the key and keeps the text: the person presses it again.
    const isIgnored = async () => this.requests.length === before && (await this.input.inputValue().catch(() => '')).trim() === text;
    for (const end = Date.now() + PATIENCE; Date.now() < end && (await isIgnored()); ) {
      await this.tab.waitForTimeout(200);
      if (await isIgnored()) await this.input.press('Enter');
    }
  }

  /** A button in the conversation; the form below it has one of its own. */
  button(name) {
    return this.tab.locator('button:not(form *)').getByText(name, { exact: true });
  }

  #control(name, within = this.tab) {
    const selector = this.#kind.controls[name];
    return selector ? within.locator(selector) : within.getByRole('button', { name: new RegExp(`^${name}$`, 'i') });
  }

  /** Presses the button for `stop`, `regenerate` or `clear`, the last one if there are several. */
  async press(control) {
    await this.#control(control).last().click();
  }

  /** Changes the message of the person's that has this text, and sends it again. */
  async edit(from, to) {
    const message = this.locator(this.#kind.userMessage).filter({ hasText: from });
    // Some show the button only then.
    await message.hover();
    await this.#control('edit', message).click();
    const field = this.tab.getByRole('textbox', { name: 'Edited message' });
    await field.fill(to);
    await field.press('Enter');
  }

  /** Until the page shows the text. */
  async shows(text) {
    await this.tab.getByText(text).first().waitFor();
  }

  /** Until the conversation reads like this, whatever elements it is made of. */
  async reads(text) {
    const { source, flags } = text;
    await this.tab.waitForFunction(
      ({ source, flags }) => new RegExp(source, flags).test(document.querySelector('#root').innerText),
      { source, flags },
    );
  }

  /** Until the page shows nothing with the text. */
  async hides(text) {
    await this.tab.getByText(text).first().waitFor({ state: 'detached' });
  }

  /** The text that is shown where the page shows this. */
  async textOf(text) {
    const found = this.tab.getByText(text).last();
    await found.waitFor();
    return (await found.innerText()).trim();
  }

  /** The page has each text so often, folded ones included. */
  async counts(expected) {
    const counted = {};
    for (const text of Object.keys(expected)) counted[text] = await this.tab.getByText(text).count();
    assert.deepEqual(counted, expected);
  }

  /** The page has so many elements for each selector. */
  async selects(expected) {
    const counted = {};
    for (const selector of Object.keys(expected)) counted[selector] = await this.locator(selector).count();
    assert.deepEqual(counted, expected);
  }

  locator(selector) {
    return this.tab.locator(selector);
  }

  /** How often the page's own tool was executed in this tab, reloads included. */
  executions() {
    return this.tab.evaluate(() => Number(sessionStorage.getItem('executions') ?? 0));
  }

  /** The names of the data that the page's callbacks got. */
  data() {
    return this.tab.evaluate(() => [...new Set(window.received ?? [])]);
  }

  /** The conversation as it reads, without buttons and what MUI says about times and progress. */
  async transcript() {
    const text = await this.tab.locator('#root').innerText();
    const lines = text.split('\n').map((line) => line.trim());
    return lines.filter((line) => line && !ASIDE.test(line)).join('\n');
  }

  /** Reloads the page; when it is `complete` it shows the same text as before. */
  async isSameAfterReload(complete) {
    const before = await this.transcript();
    await this.reload();
    await complete();
    assert.equal(await this.transcript(), before);
  }

  /** The first card was seen at least twice before it had its last words. */
  async grew(selector, last) {
    const states = await this.tab.evaluate((selector) => window.growth[selector], selector);
    const incomplete = states.filter((text) => !text.includes(last));
    assert.ok(incomplete.length >= 2, `${selector} was seen ${incomplete.length} times before its end`);
    assert.ok(states.at(-1).includes(last), `${selector} has its end`);
  }
}

/** Notes each state of the first card of a kind. Runs in the page before its own script. */
function watch() {
  window.growth = { '.draft': [], '.grid': [], '.itinerary': [] };
  const note = () => {
    for (const [selector, states] of Object.entries(window.growth)) {
      const text = document.querySelector(selector)?.innerText;
      if (text !== undefined && text !== states.at(-1)) states.push(text);
    }
  };
  new MutationObserver(note).observe(document, { childList: true, characterData: true, subtree: true });
}
