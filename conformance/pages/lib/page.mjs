// A vendor's page as a person uses it: what they press and what they read.

import assert from 'node:assert/strict';

/** A conversation that the server does not know yet is asked for once. */
const UNKNOWN = /the server responded with a status of 404/;

/** How the pages ask for their conversation. */
const HISTORY = /\/messages\?dialect=|\/chat\?(conversationId|threadId)=/;

export class Page {
  /** What the console may say. */
  expects;

  /** How many requests with a body it sent. */
  posts = 0;

  constructor(tab, name) {
    this.tab = tab;
    this.name = name;
    this.expects = UNKNOWN;
  }

  async open(url) {
    this.tab.on('request', (request) => {
      if (request.method() === 'POST') this.posts += 1;
    });
    await this.tab.addInitScript(watch);
    await this.#load(() => this.tab.goto(url));
  }

  async reload() {
    await this.#load(() => this.tab.reload());
  }

  /** A page is loaded when it has its history: MUI's forgets what is said before. */
  async #load(load) {
    const history = this.tab.waitForResponse((response) => HISTORY.test(response.url()));
    await load();
    const response = await history;
    // A page reads no body of a refusal, and one that is not read does not finish.
    if (response.ok()) await response.finished();
    await this.input.waitFor();
  }

  async close() {
    await this.tab.context().close();
  }

  get input() {
    return this.tab.getByRole('textbox').last();
  }

  async say(text) {
    await this.input.fill(text);
    await this.input.press('Enter');
  }

  /** A button in the conversation; the form below it has one of its own. */
  button(name) {
    return this.tab.locator('button:not(form *)').getByText(name, { exact: true });
  }

  /** Until the page shows the text. */
  async shows(text) {
    await this.tab.getByText(text).first().waitFor();
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

  /** The conversation as it reads, without what MUI says about times and progress. */
  async transcript() {
    const text = await this.tab.locator('#root').innerText();
    const lines = text.split('\n').map((line) => line.trim());
    return lines.filter((line) => line && !/^(\d+:\d+ [AP]M|Response complete|Assistant is responding|Sending)$/.test(line)).join('\n');
  }

  /** Loads the page anew; when it is `complete` it reads as before. */
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
  window.growth = { '.draft': [], '.grid': [] };
  const note = () => {
    for (const [selector, states] of Object.entries(window.growth)) {
      const text = document.querySelector(selector)?.innerText;
      if (text !== undefined && text !== states.at(-1)) states.push(text);
    }
  };
  new MutationObserver(note).observe(document, { childList: true, characterData: true, subtree: true });
}
