// The page as a person uses it: what they press and what they read.

import assert from 'node:assert/strict';
import { journal, plain } from './journal.mjs';

export class Chat {
  /** Whether connections may be lost without that being a fault. */
  mayLose = false;

  constructor(page, { base, binary }) {
    this.page = page;
    this.base = base;
    this.binary = binary;
  }

  async pick(agent) {
    await this.page.getByLabel('Agent', { exact: true }).selectOption(agent);
  }

  /** Types it key by key, and presses Enter. */
  async say(text) {
    await this.input.pressSequentially(text);
    await this.input.press('Enter');
  }

  async press(name) {
    await this.page.getByRole('button', { name, exact: true }).click();
  }

  /** Presses a button of what the run asks. */
  async choose(name) {
    await this.question.getByRole('button', { name, exact: true }).click();
  }

  get input() {
    return this.page.getByLabel('Your message');
  }

  get answers() {
    return this.page.locator('.answer');
  }

  get last() {
    return this.answers.last();
  }

  get question() {
    return this.page.locator('.ask');
  }

  /** The connection, as the page tells it. */
  get link() {
    return this.page.locator('#link');
  }

  /** Until the page says that nothing is going. */
  async settled(turns = 1) {
    await this.page.waitForFunction(
      (turns) => {
        const log = document.querySelector('#log');
        return document.querySelectorAll('.answer').length === turns && log.ariaBusy === 'false';
      },
      turns,
    );
  }

  /** Until the last answer shows this. */
  async shows(text) {
    await this.last.getByText(text).first().waitFor();
  }

  /** Until the run waits for the person. */
  async asked() {
    await this.question.first().waitFor();
  }

  /** The texts of an answer as a person reads them. */
  async texts(at = -1) {
    const texts = await this.answers.nth(at).locator('.text').allInnerTexts();
    return texts.map(squeezed);
  }

  /** The runs behind the answers. */
  async runs() {
    const kept = await this.page.evaluate(() => localStorage[`headwater:${location.hash.slice(1)}`]);
    return JSON.parse(kept).turns.map(({ run }) => run);
  }

  /** The page shows each answer as the journal has it, and no more. */
  async agrees() {
    const runs = await this.runs();
    assert.equal(await this.answers.count(), runs.length, 'one answer for each run');
    for (const [at, run] of runs.entries()) {
      const { messages } = await journal(this, run);
      const parts = messages.flatMap((message) => message.parts);
      const texts = parts.filter(({ type }) => type === 'text').map(({ text }) => plain(text));
      assert.deepEqual(await this.texts(at), texts);
    }
  }

  /** How many pixels the page is wider than the screen. */
  overflow() {
    return this.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  }
}

export const squeezed = (text) => text.replace(/\s+/g, ' ').trim();
