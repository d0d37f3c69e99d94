// How long the AI SDK's provider packages take for the streams that our bench measured.
//
// Reads HEADWATER_BENCH_DIR/<provider>.sse and prints one line of JSON per measurement:
//   {"provider","what":"vendor","bytes","events","seconds"}
//
// The body comes in pieces of 1400 bytes from a `fetch` without a network. The smaller of CPU and wall time counts, and of
// all passes the best one.
import { readFileSync, readdirSync } from "node:fs";
import { join, parse } from "node:path";

import { createAnthropic } from "@ai-sdk/anthropic";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createGroq } from "@ai-sdk/groq";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";

const piece = 1400;
const budget = 3000;
const apiKey = "k";

const models = {
  openai: (fetch) => createOpenAI({ apiKey, fetch }).responses("m"),
  "openai-chat": (fetch) => createOpenAI({ apiKey, fetch }).chat("m"),
  anthropic: (fetch) => createAnthropic({ apiKey, fetch })("m"),
  google: (fetch) => createGoogleGenerativeAI({ apiKey, fetch })("m"),
  deepseek: (fetch) => createDeepSeek({ apiKey, fetch })("m"),
  groq: (fetch) => createGroq({ apiKey, fetch })("m"),
  mistral: (fetch) => createMistral({ apiKey, fetch })("m"),
  "openai-compatible": (fetch) => createOpenAICompatible({ name: "c", baseURL: "http://c", apiKey, fetch })("m"),
};

function body(bytes) {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + piece));
      at += piece;
    },
  });
}

async function read(model) {
  const prompt = [{ role: "user", content: [{ type: "text", text: "Hi" }] }];
  const { stream } = await model.doStream({ prompt });
  for await (const _ of stream);
}

async function timed(run) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await run();
  const wall = (performance.now() - start) / 1e3;
  const { user, system } = process.cpuUsage(cpu);
  return Math.min(wall, (user + system) / 1e6);
}

const folder = process.env.HEADWATER_BENCH_DIR;
if (!folder) {
  console.error("HEADWATER_BENCH_DIR is not set: it names the folder with the streams to measure");
  process.exit(2);
}
for (const file of readdirSync(folder).filter((name) => name.endsWith(".sse")).sort()) {
  const provider = parse(file).name;
  const bytes = new Uint8Array(readFileSync(join(folder, file)));
  const fetch = async () => new Response(body(bytes), { headers: { "content-type": "text/event-stream" } });
  const model = models[provider](fetch);
  const until = performance.now() + budget;
  let seconds = Infinity;
  while (performance.now() < until) seconds = Math.min(seconds, await timed(() => read(model)));
  const events = Buffer.from(bytes).toString("utf8").split("\n\n").filter((block) => block.trim()).length;
  console.log(JSON.stringify({ provider, what: "vendor", bytes: bytes.length, events, seconds }));
}
process.exit(0);
