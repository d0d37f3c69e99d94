// One process of the bench: `node bench.mjs write|read|pace|read-paced REDIS_URL RUNS SECONDS_OR_RECORDS`.
//
// Prints `ready`, waits for a line, does its work, prints its figures as `name=value` in one line, and stays until its
// input ends.

import { createInterface } from "node:readline";
import { createClient } from "redis";
import { createResumableStreamContext } from "resumable-stream";

const RECORD = 200;
const [role, url, runs, amount] = process.argv.slice(2);
const ids = Array.from({ length: Number(runs) }, (_, run) => `run-${run}`);

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const publisher = createClient({ url });
const subscriber = createClient({ url });
await Promise.all([publisher.connect(), subscriber.connect()]);
const context = createResumableStreamContext({ waitUntil: null, publisher, subscriber });

async function ready() {
  console.log("ready");
  await lines.next();
}

// The clock that all processes of a machine share.
const now = () => process.hrtime.bigint();
const seconds = (since) => Number(now() - since) / 1e9;

// Reads a stream to its end.
async function drain(stream, note) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    note(value);
  }
}

// Chunks as fast as the package takes them, from when all begin.
async function write() {
  let begin;
  const begun = new Promise((resolve) => (begin = resolve));
  const chunk = "x".repeat(RECORD);
  let records = 0;
  let over = false;
  const make = () =>
    new ReadableStream({
      async pull(controller) {
        await begun;
        if (over) return controller.close();
        records += 1;
        controller.enqueue(chunk);
      },
    });
  const streams = await Promise.all(ids.map((id) => context.createNewResumableStream(id, make)));
  const drained = streams.map((stream) => drain(stream, () => {}));
  await ready();
  const since = now();
  setTimeout(() => (over = true), Number(amount) * 1000);
  begin();
  await Promise.all(drained);
  console.log(`records=${records} seconds=${seconds(since)}`);
}

async function follow(note) {
  const streams = await Promise.all(ids.map((id) => context.resumeExistingStream(id)));
  for (const stream of streams) drain(stream, note);
}

async function read() {
  let records = 0;
  await follow((chunk) => {
    // The text streamed before is one chunk, and empty here.
    records += chunk.length / RECORD;
  });
  await ready();
  const since = now();
  setTimeout(() => {
    console.log(`records=${records} seconds=${seconds(since)}`);
  }, Number(amount) * 1000);
}

// One chunk each millisecond, for one run after the other. Each begins with the time.
async function pace() {
  const controllers = [];
  const make = () => new ReadableStream({ start: (controller) => void controllers.push(controller) });
  for (const id of ids) {
    drain(await context.createNewResumableStream(id, make), () => {});
  }
  await ready();
  const since = now();
  let records = 0;
  const timer = setInterval(() => {
    const due = Math.min(Number(amount), Math.floor(seconds(since) * 1000));
    for (; records < due; records += 1) {
      controllers[records % controllers.length].enqueue(`${now()} `.padEnd(RECORD, "x"));
    }
    if (records === Number(amount)) {
      clearInterval(timer);
      console.log(`records=${records}`);
    }
  }, 1);
}

async function readPaced() {
  const samples = [];
  await follow((chunk) => {
    if (chunk === "") return;
    samples.push(Number(now() - BigInt(chunk.slice(0, chunk.indexOf(" ")))) / 1e6);
    if (samples.length === Number(amount)) {
      samples.sort((a, b) => a - b);
      const at = (share) => samples[Math.floor((samples.length - 1) * share)];
      console.log(`records=${samples.length} p50=${at(0.5)} p99=${at(0.99)}`);
    }
  });
  await ready();
}

await { write, read, pace, "read-paced": readPaced }[role]();
