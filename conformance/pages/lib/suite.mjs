// What every vendor's page must show of the demo agents, live and after a reload.

import assert from 'node:assert/strict';
import { test } from 'node:test';

/**
 * `shows` names the parts that the vendor's page has beside text, reasoning, tools and objects; `retracts` says whether it
 * can remove the text of a failed attempt; `answered` whether an answered question stays in the conversation.
 */
export function suite(name, { shows, retracts, answered }, here) {
  const can = (part) => shows.includes(part);

  test(`${name}: chat shows reasoning, text, sources, files and data`, async () => {
    const page = await here.visit(name, 'chat');
    await page.say('hello heron');
    const complete = async () => {
      await page.shows('to see that I remember');
      if (can('data')) await page.shows('Ask next: table, long, slow');
      await page.counts({
        'What I can show:': 1,
        'A greeting. I say what I can do.': 1,
        'Ask next: table, long, slow': can('data') ? 1 : 0,
        'An example page': can('sources') ? 1 : 0,
        'The design of Headwater': can('sources') ? 1 : 0,
      });
      await page.selects({ 'img[src^="data:image/svg+xml"]': can('files') ? 1 : 0 });
    };
    await complete();
    await page.isSameAfterReload(complete);
    await page.say('what did I say?');
    const remembered = async () => {
      await page.tab.getByText('hello heron').nth(1).waitFor();
      if (can('data')) await page.tab.getByText('Ask next:').nth(1).waitFor();
    };
    await remembered();
    await page.isSameAfterReload(remembered);
  });

  test(`${name}: travel asks, looks things up, plans, and changes the plan`, async () => {
    const page = await here.visit(name, 'travel');
    const last = /or `?cheaper`?\.$/;
    await page.say('3 days in Lisbon in May');
    await page.button('Packed').click();
    const planned = async () => {
      await page.shows(last);
      await page.selects({ '.itinerary': 1, '.itinerary .day': 3, '.itinerary tr': 4, '.tool': 2 });
      await page.counts({ 'Total: €': 1, 'I am filling in the days now.': 1 });
    };
    await planned();
    await page.grew('.itinerary', 'Total: €');
    await page.isSameAfterReload(planned);
    await page.say('swap day 2 and 3');
    await page.shows(/Days 2 and 3 have changed places/);
    const swapped = async () => {
      await page.tab.getByText(last).nth(1).waitFor();
      await page.locator('.itinerary').nth(1).getByText('Day 2: A day in Sintra').waitFor();
    };
    await swapped();
    await page.isSameAfterReload(swapped);
  });

  test(`${name}: research shows searches, the answer, its sources and its chart`, async () => {
    const page = await here.visit(name, 'research');
    await page.say('Why are there two tides a day?');
    const complete = async () => {
      await page.shows(/from the second\./);
      if (can('sources')) await page.shows('Springs and neaps');
      if (can('files')) await page.locator('img[src^="data:image/svg+xml"]').waitFor();
      await page.selects({ '.tool': 2, 'img[src^="data:image/svg+xml"]': can('files') ? 1 : 0 });
    };
    await complete();
    await page.isSameAfterReload(complete);
  });

  for (const [decision, text, status] of [
    ['Approve', /of order 1042 are on their way back/, 'refunded'],
    ['Deny', /The refund was not approved/, 'open'],
  ]) {
    test(`${name}: support takes the decision ${decision}, and shows the case`, async () => {
      const page = await here.visit(name, 'support');
      await page.say('My order 1042 arrived broken');
      await page.button(decision).click();
      const settled = async () => {
        await page.shows(text);
        await page.shows(`Case 1042: ${status}`);
      };
      await settled();
      await page.isSameAfterReload(settled);
    });
  }

  test(`${name}: chat shows a failure, and the next answer`, async () => {
    const page = await here.visit(name, 'chat');
    await page.say('error');
    await page.shows(/the demo was asked to fail, and did/);
    await page.say('hello');
    await page.shows('to see that I remember');
  });

  test(`${name}: chat continues after a reload in the middle of an answer`, async () => {
    const page = await here.visit(name, 'chat');
    await page.say('slow');
    await page.shows(/One word after the other/);
    await page.reload();
    await page.shows(/nothing is lost\.$/);
    await page.counts({ 'One word after the other': 1, 'They want to see it come.': 1 });
    await page.isSameAfterReload(() => page.shows(/nothing is lost\.$/));
  });

  test(`${name}: email grows, asks, is revised and sent`, async () => {
    const page = await here.visit(name, 'email');
    const question = 'Send “News: the new boat”?';
    await page.say('the new boat');
    await page.button('Revise').waitFor();
    await page.grew('.draft', 'Starts with one command');
    await page.selects({ '.draft': 1, '.draft li': 3 });
    await page.isSameAfterReload(() => page.button('Revise').waitFor());
    await page.button('Revise').click();
    await page.locator('.draft').nth(1).waitFor();
    await page.button('Send').waitFor();
    await page.selects({ '.draft': 2, '.draft li': 5 });
    await page.counts({ [question]: answered ? 2 : 1 });
    await page.button('Send').click();
    await page.shows('Sent: News: the new boat');
    await page.counts({ [question]: answered ? 2 : 0, 'Answered: send': answered ? 1 : 0 });
    await page.isSameAfterReload(() => page.shows('Sent: News: the new boat'));
    await page.selects({ '.draft': 2, '.draft li': 5 });
  });

  test(`${name}: table grows to its end`, async () => {
    const page = await here.visit(name, 'table');
    await page.say('planets');
    await page.shows('Planets: 4 rows.');
    await page.grew('.grid', 'from the sun outwards.');
    await page.selects({ '.grid': 1, '.grid tbody tr': 4 });
    await page.isSameAfterReload(() => page.shows('Planets: 4 rows.'));
  });

  test(`${name}: table continues after a reload while it grows`, async () => {
    const page = await here.visit(name, 'table');
    await page.say('planets');
    await page.locator('.grid').waitFor();
    await page.reload();
    await page.shows('Planets: 4 rows.');
    await page.selects({ '.grid': 1, '.grid tbody tr': 4 });
  });

  for (const [decision, text] of [
    ['Approve', 'I deleted notes.txt.'],
    ['Deny', 'I left notes.txt alone, as you wished.'],
  ]) {
    test(`${name}: tools takes the decision ${decision}`, async () => {
      const page = await here.visit(name, 'tools');
      await page.say('delete notes.txt');
      await page.button(decision).click();
      await page.shows(text);
      await page.isSameAfterReload(() => page.shows(text));
      await page.counts({ [text]: 1 });
    });

    test(`${name}: tools takes the decision ${decision} after a reload`, async () => {
      const page = await here.visit(name, 'tools');
      await page.say('delete notes.txt');
      await page.button(decision).waitFor();
      await page.reload();
      await page.button(decision).click();
      await page.shows(text);
      await page.counts({ [text]: 1 });
    });
  }

  test(`${name}: tools calls the page's own tool, and once`, async () => {
    const page = await here.visit(name, 'tools');
    await page.say('where am I?');
    await page.shows('You are in Bergen.');
    const sent = page.posts;
    await page.isSameAfterReload(() => page.shows('You are in Bergen.'));
    assert.equal(page.posts, sent, 'a reload sends no output');
  });

  test(`${name}: tools shows calls of every kind in one answer`, async () => {
    const page = await here.visit(name, 'tools');
    await page.say('everything');
    await page.button('Approve').click();
    const last = /I deleted notes\.txt\. You are in Bergen\. Rome is 7 degrees warmer than Paris\./;
    await page.shows(last);
    await page.selects({ '.tool': 4 });
    await page.isSameAfterReload(() => page.shows(last));
  });

  test(`${name}: tools shows why a call failed`, async () => {
    const page = await here.visit(name, 'tools');
    await page.say('weather in Atlantis');
    await page.shows(/^The tool get_weather failed.*Atlantis\.$/);
    const failure = /there is no weather station in Atlantis/;
    assert.match(await page.locator('.tool').innerText(), failure);
    await page.isSameAfterReload(() => page.shows(/^The tool get_weather failed.*Atlantis\.$/));
  });

  test(`${name}: flaky ${retracts ? 'removes' : 'closes'} the text of the attempt that failed`, async () => {
    const page = await here.visit(name, 'flaky');
    const failed = 'The first model begins to answer';
    await page.say('are you there?');
    await page.shows(/You said: are you there\?$/);
    await page.counts({ [failed]: retracts ? 0 : 1, 'The first model died': 1 });
    await page.reload();
    await page.shows(/You said: are you there\?$/);
    await page.counts({ [failed]: 0, 'The first model died': 1 });
  });
}
