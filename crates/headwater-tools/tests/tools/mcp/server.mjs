// An MCP server for tests, in one of several characters, most of them bad. It speaks JSON-RPC over its standard input
// and output, one message to a line, and needs nothing but Node.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";

const character = process.argv[2];
const object = { type: "object" };
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const text = (value) => ({ content: [{ type: "text", text: String(value) }] });

if (character === "dies") {
  process.stderr.write("no configuration was found\n");
  process.exit(1);
}

let grandchild;
if (character === "stubborn") {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1000);
  grandchild = spawn("sleep", ["1000"], { stdio: "inherit" });
}

const tool = (name, more = {}) => ({ name, inputSchema: object, ...more });
const tools = [
  tool("echo", { title: "Echo", description: "Gives back what it gets.", annotations: { readOnlyHint: true } }),
  tool("steps"),
  tool("forever"),
  tool("lively"),
  tool("held"),
  tool("cancelled"),
  tool("die"),
  tool("number"),
  tool("shapeless"),
  tool("liar", {
    outputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    annotations: { idempotentHint: true, destructiveHint: true },
  }),
  tool("image"),
  tool("failure"),
  tool("refusal"),
  tool("environment"),
  tool("folder"),
  tool("pids"),
  tool("grow"),
  tool("meta"),
  tool("leak"),
  tool("large"),
];
const cancelled = [];

function list(id, cursor) {
  const page = Number(cursor ?? 0);
  const numbered = Array.from({ length: 100 }, (_, index) => tool(`tool-${page * 100 + index}`));
  const next = { many: page < 9 ? String(page + 1) : undefined, circle: "7", endless: String(page + 1) };
  if (character in next) {
    send({ id, result: { tools: numbered, nextCursor: next[character] } });
  } else if (character === "wordless") {
    send({ id, result: { tools: "none" } });
  } else {
    send({ id, result: { tools } });
  }
}

function call(id, { name, arguments: given, _meta }) {
  const result = (value) => send({ id, result: value });
  const progress = (step, more = {}) => {
    const params = { progressToken: _meta.progressToken, progress: step, ...more };
    send({ method: "notifications/progress", params });
  };
  switch (name) {
    case "echo":
      return result(text(JSON.stringify(given)));
    case "steps":
      for (let step = 1; step <= 200; step += 1) progress(step, { total: 200, message: `step ${step}` });
      return result(text("done"));
    case "forever":
      return progress(0.5);
    case "lively": {
      let step = 0;
      return setInterval(() => progress((step += 1)), 20);
    }
    case "held": {
      progress(1);
      const timer = setInterval(() => {
        if (existsSync(given.until)) {
          clearInterval(timer);
          result(text("released"));
        }
      }, 5);
      return undefined;
    }
    case "cancelled":
      return result({ content: [], structuredContent: { cancelled } });
    case "die":
      process.stderr.write("out of memory\n");
      return process.exit(3);
    case "number":
      return result(7);
    case "shapeless":
      return result({ content: "a text where blocks belong" });
    case "liar":
      return result({ content: [], structuredContent: { n: "one" } });
    case "image":
      return result({
        content: [
          { type: "text", text: "a dot" },
          { type: "image", data: "AA==", mimeType: "image/png" },
        ],
      });
    case "failure":
      return result({ ...text("the disk is full"), isError: true });
    case "environment":
      return result(text(Object.keys(process.env).sort().join(" ")));
    case "folder":
      return result(text(process.cwd()));
    case "pids":
      return result({ content: [], structuredContent: { pids: [process.pid, grandchild?.pid ?? process.pid] } });
    case "grow":
      tools.push(tool(`grown-${tools.length}`));
      send({ method: "notifications/tools/list_changed" });
      return result(text("grown"));
    case "meta":
      return result(text(JSON.stringify(_meta)));
    case "leak":
      return send({ id, error: { code: -32000, message: `${process.argv.slice(2).join(" ")} ${process.env.TOKEN}` } });
    case "large":
      return result(text("x".repeat(17 * 1024 * 1024)));
    default:
      return send({ id, error: { code: -32602, message: `not today: ${name}` } });
  }
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (character === "mute") return;
  // It has read the question, and reads nothing more.
  if (character === "deaf" && method === "tools/call") {
    lines.close();
    process.stdin.pause();
    setInterval(() => {}, 1000);
    return;
  }
  if (method === "initialize" && character === "shy") {
    send({ id, result: { hello: "world" } });
  } else if (method === "initialize" && character === "modern") {
    send({ id, error: { code: -32601, message: "there is no greeting any more" } });
  } else if (method === "server/discover" && character === "modern") {
    const versions = { supportedVersions: ["2026-07-28"], ttlMs: 0, cacheScope: "private" };
    send({ id, result: { resultType: "complete", capabilities: { tools: {} }, ...versions } });
  } else if (method === "initialize") {
    process.stdout.write("a line that is not a message\n");
    const serverInfo = { name: "test", version: "1" };
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
  } else if (method === "tools/list" && character !== "dull") {
    list(id, params?.cursor);
  } else if (method === "tools/call") {
    call(id, params);
  } else if (method === "notifications/cancelled") {
    cancelled.push(params);
  }
});
