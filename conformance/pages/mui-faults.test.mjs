// What MUI's ChatBox shows of files, of messages that were not sent, and of a connection that is gone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../clients/lib/until.mjs';
import { PATIENCE } from './lib/patience.mjs';
import { stage } from './lib/stage.mjs';

const here = stage({ names: ['mui-faults'] });
const visit = (agent, options) => here.visit('mui-faults', agent, options);

/** A picture of one red pixel. */
const PICTURE = {
  name: 'red.png',
  mimeType: 'image/png',
  buffer: Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==', 'base64'),
};

const attach = (page, file) => page.locator('input[type=file]').setInputFiles(file);

/** The picture is shown, and there is one behind its URL. */
async function showsPicture(page, url) {
  await page.locator(`img[alt="red.png"][src^="${url}"]`).waitFor();
  await page.tab.waitForFunction(() => document.querySelector('img[alt="red.png"]').naturalWidth === 1);
}

test('mui: a file that is attached is there after a reload', async () => {
  const page = await visit('chat');
  await attach(page, PICTURE);
  await page.say('hello heron');
  await showsPicture(page, 'blob:');
  await page.shows('to see that I remember');
  await page.reload();
  await page.shows('to see that I remember');
  await showsPicture(page, 'data:image/png;base64,');
  assert.doesNotMatch(page.requests.map(({ body }) => body ?? '').join(''), /blob:/);
});

test('mui: a file is sent again with its message when the answer is regenerated', async () => {
  const page = await visit('runs');
  await attach(page, PICTURE);
  await page.say('go');
  const first = await page.textOf(/This is run_/);
  await page.press('regenerate');
  await page.hides(first);
  await page.shows(/This is run_/);
  await page.reload();
  await page.shows(/This is run_/);
  await showsPicture(page, 'data:image/png;base64,');
});

test('mui: files of earlier messages are not sent again', async () => {
  const page = await visit('chat');
  await attach(page, PICTURE);
  await page.say('hello heron');
  await page.shows('to see that I remember');
  await page.say('what did I say?');
  await page.shows(/Before this you said/);
  const [, second] = page.requests.filter(({ method }) => method === 'POST');
  assert.doesNotMatch(second.body, /blob:|data:image\/png/);
});

test('mui: a message is sent when the server has it, also while the run waits', async () => {
  const page = await visit('email');
  await page.say('the new boat');
  await page.button('Revise').waitFor();
  await page.counts({ Sending: 0 });
  await page.reload();
  await page.button('Revise').waitFor();
  await page.counts({ Sending: 0 });
});

test('mui: a message that the server refuses is a send error', async () => {
  const other = await visit('chat');
  await other.say('hello');
  await other.shows('to see that I remember');
  const page = await visit('email', { conversation: other.conversation });
  page.expect(/status of 409/);
  await page.say('the new boat');
  await page.shows(/^error of send: .*another agent/);
  // On the message itself, with a button to send it again.
  await page.locator('[role=alert]').getByText(/another agent/).waitFor();
  await page.tab.getByRole('button', { name: 'Retry' }).waitFor();
});

test('mui: a file that is too large is a send error', async () => {
  const page = await visit('chat');
  page.expect(/status of 413/);
  await attach(page, { ...PICTURE, buffer: Buffer.alloc(2 << 20) });
  await page.say('hello');
  await page.shows(/^error of send: .*(larger|large)/);
});

test('mui: a message that cannot be sent can be sent again', async () => {
  const page = await visit('chat');
  page.expectLoss();
  await page.tab.context().setOffline(true);
  await page.say('hello heron');
  await page.shows(/^error of send: cannot reach the server/);
  await page.tab.context().setOffline(false);
  await page.tab.getByRole('button', { name: 'Retry' }).click();
  await page.shows('to see that I remember');
});

test('mui: a connection that is gone for good is a disconnect', async () => {
  const page = await visit('chat');
  await page.say('slow');
  await page.shows(/One word after the other/);
  page.expectLoss();
  // The one ends the connection, the other keeps it from being opened again.
  await page.tab.context().setOffline(true);
  await here.kill();
  await page.shows('finished: isDisconnect true, isError true');
  await page.shows(/^error of stream/);
});

test('mui: a run that fails shows its error, ends the streaming, and the next message is answered', async () => {
  const page = await visit('chat');
  await page.say('error');
  await page.shows(/^error of \w+: .*asked to fail/);
  // The answer so far stays. Nothing streams any more: the message can be answered again, and the next one is sent.
  await page.tab.getByRole('button', { name: 'Regenerate' }).waitFor();
  assert.equal(await page.tab.getByRole('button', { name: 'Stop', exact: true }).count(), 0);
  await page.say('hello heron');
  await page.shows('to see that I remember');
});

test('mui: a conversation whose run failed is open again after a reload', async () => {
  const page = await visit('chat');
  await page.say('error');
  await page.shows(/^error of \w+: .*asked to fail/);
  await page.reload();
  await page.tab.getByRole('button', { name: 'Regenerate' }).waitFor();
  await page.say('hello heron');
  await page.shows('to see that I remember');
});

test('mui: an answer that is stopped while the page is left is stopped', async () => {
  const known = new Set((await here.runs('runs')).map(({ id }) => id));
  const page = await visit('runs');
  await page.say('slow');
  await page.shows(/It begins slowly/);
  // The page is gone in the same moment in which the button is pressed.
  await page.tab.evaluate(() => {
    [...document.querySelectorAll('button')].find((button) => button.innerText === 'Stop').click();
    location.href = 'about:blank';
  });
  const run = async () => (await here.runs('runs')).find(({ id }) => !known.has(id));
  await until('the run to be cancelled', async () => (await run()).status === 'cancelled', PATIENCE);
});
