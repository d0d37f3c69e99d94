// How the page behaves on other screens and without a mouse.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { stage } from './lib/stage.mjs';

const here = stage();

test('on a narrow screen nothing must be moved sideways', async () => {
  const chat = await here.chat('chat', { viewport: { width: 390, height: 844 } });
  assert.equal(await chat.overflow(), 0);
  for (const [at, said] of ['hello', 'table', 'long', `${'w'.repeat(300)}`].entries()) {
    await chat.input.fill(said);
    await chat.input.press('Enter');
    await chat.settled(at + 1);
    assert.equal(await chat.overflow(), 0, said);
  }
  for (const [agent, said] of [['tools', 'everything'], ['email', 'the new boat'], ['table', 'planets']]) {
    await chat.pick(agent);
    await chat.say(said);
    if (agent === 'table') await chat.settled();
    else await chat.asked();
    assert.equal(await chat.overflow(), 0, agent);
    const inside = await chat.page.locator('#log').evaluate((log) => log.scrollWidth - log.clientWidth);
    assert.equal(inside, 0, `${agent}, in the conversation`);
  }
});

for (const colorScheme of ['light', 'dark']) {
  test(`in the ${colorScheme} scheme every text can be read`, async () => {
    const chat = await here.chat('tools', { colorScheme });
    await chat.say('everything');
    await chat.question.nth(1).waitFor();
    const faint = await chat.page.evaluate(() => {
      const parse = (color) => color.match(/[\d.]+/g).map(Number);
      const light = (color) => {
        const [r, g, b] = color.map((value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
          const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
          if (a === 1) return [r, g, b];
        }
        return [255, 255, 255];
      };
      const faint = [];
      for (const element of document.querySelectorAll('body *')) {
        const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
        if (!own || !element.checkVisibility() || element.disabled) continue;
        const [one, other] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (contrast < 4.5) faint.push(`${element.tagName} ${element.textContent.slice(0, 30)}: ${contrast.toFixed(2)}`);
      }
      return faint;
    });
    assert.deepEqual(faint, []);
    const back = await chat.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const sum = back.match(/\d+/g).map(Number).reduce((sum, value) => sum + value);
    assert.equal(sum < 128 * 3, colorScheme === 'dark', back);
  });
}

test('all can be done with the keyboard', async () => {
  const chat = await here.chat();
  const { keyboard } = chat.page;
  const focused = () => chat.page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
  /** Moves the focus until it is there, and sees that it can be seen. */
  const reach = async (wanted, key = 'Tab') => {
    for (let steps = 0; (await focused()) !== wanted; steps += 1) {
      assert.ok(steps < 60, `${wanted} cannot be reached`);
      await keyboard.press(key);
    }
    assert.notEqual(await chat.page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'none', wanted);
  };
  assert.equal(await focused(), 'input', 'one can type at once');
  await reach('agent', 'Shift+Tab');
  await keyboard.type('tools');
  await chat.page.waitForFunction(() => document.querySelector('#agent').value === 'tools');
  await reach('input');
  await keyboard.type('delete notes.txt');
  await keyboard.press('Enter');
  await chat.asked();
  await reach('Deny', 'Shift+Tab');
  await keyboard.press('Enter');
  await chat.settled();
  assert.deepEqual(await chat.texts(), ['I left notes.txt alone, as you wished.']);
  assert.equal(await focused(), 'input', 'one can go on typing');
  await keyboard.type('one');
  await keyboard.press('Shift+Enter');
  await keyboard.type('two');
  assert.equal(await chat.input.inputValue(), 'one\ntwo');
  await keyboard.press('Enter');
  await chat.settled(2);
  await reach('fresh', 'Shift+Tab');
  await keyboard.press('Space');
  await chat.page.locator('.empty').waitFor();
});

test('a question keeps the focus while the answer goes on around it', async () => {
  const chat = await here.chat('tools');
  await chat.say('everything');
  await chat.question.nth(1).waitFor();
  const box = chat.question.getByRole('textbox');
  await box.fill('Tromsø');
  await box.focus();
  // The other question is answered by somebody else.
  const [run] = await chat.runs();
  const { waitsFor } = await (await fetch(`${here.base}/v1/runs/${run}`)).json();
  const { request } = waitsFor.find(({ kind }) => kind === 'approval');
  await fetch(`${here.base}/v1/runs/${run}/answer`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ request, approved: false }),
  });
  await chat.page.waitForFunction(() => document.querySelectorAll('.ask').length === 1);
  assert.equal(await box.inputValue(), 'Tromsø');
  assert.ok(await box.evaluate((box) => box === document.activeElement));
  await box.press('Enter');
  await chat.settled();
  await chat.shows('You are in Tromsø.');
});

test('each line that can be copied works in a shell, for the agent that is picked', async () => {
  const person = await here.person({ permissions: ['clipboard-read', 'clipboard-write'] });
  const chat = await person.tab();
  await chat.pick('flaky');
  const names = await chat.page.locator('#dialects summary strong').allInnerTexts();
  assert.deepEqual(names, ['kortyx', 'tanstack', 'mui', 'agents', 'ai-sdk', 'ag-ui', 'responses']);
  for (const name of names) {
    const line = chat.page.locator(`#line-${name}`);
    if ((await line.getAttribute('open')) === null) await line.locator('summary').click();
    await chat.page.getByRole('button', { name: `Copy the line for ${name}` }).click();
    await line.getByText('Copied').waitFor();
    const copied = await chat.page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, await line.locator('pre').innerText());
    const { stdout } = await promisify(execFile)('sh', ['-c', copied]);
    assert.match(stdout, /second/, name);
  }
});

test('the events of the last answer are listed', async () => {
  const chat = await here.chat();
  await chat.say('hello');
  await chat.settled();
  const events = await chat.page.locator('#wire li').allInnerTexts();
  assert.match(events[0], /^run-started/);
  assert.ok(events.some((event) => /^block-delta × \d+$/.test(event)), events.join(', '));
  assert.match(events.at(-1), /^run-finished/);
});
