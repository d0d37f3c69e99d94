// A small issue tracker as an MCP server: `search_issues` and `get_issue` over the issues in issues.json.
//
//   node server.mjs                over standard input and output
//   node server.mjs --http 8787    over HTTP, at http://127.0.0.1:8787/mcp
//
// Plain Node, no packages.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const issues = JSON.parse(readFileSync(new URL("issues.json", import.meta.url), "utf8"));

const issueSchema = {
  type: "object",
  properties: {
    id: { type: "integer" },
    title: { type: "string" },
    state: { enum: ["open", "closed"] },
    labels: { type: "array", items: { type: "string" } },
    opened: { type: "string", description: "The day, as 2026-01-31" },
    body: { type: "string" },
  },
  required: ["id", "title", "state", "labels", "opened"],
};

const tools = {
  search_issues: {
    title: "Search issues",
    description: "Finds issues, the newest first.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "Words that must all occur in the title or the text" },
        state: { enum: ["open", "closed"] },
        label: { type: "string" },
        limit: { type: "integer", minimum: 1, maximum: 50, default: 10 },
      },
      additionalProperties: false,
    },
    outputSchema: {
      type: "object",
      properties: { issues: { type: "array", items: issueSchema } },
      required: ["issues"],
    },
    call({ query = "", state, label, limit = 10 }) {
      const words = query.toLowerCase().split(/\s+/).filter(Boolean);
      const found = issues
        .filter((issue) => !state || issue.state === state)
        .filter((issue) => !label || issue.labels.includes(label))
        .filter((issue) => words.every((word) => `${issue.title} ${issue.body}`.toLowerCase().includes(word)))
        .sort((a, b) => b.opened.localeCompare(a.opened))
        .slice(0, limit)
        .map(({ body, ...rest }) => rest);
      return { issues: found };
    },
  },
  get_issue: {
    title: "Get an issue",
    description: "Gives one issue with its whole text.",
    inputSchema: {
      type: "object",
      properties: { id: { type: "integer", description: "The number of the issue" } },
      required: ["id"],
      additionalProperties: false,
    },
    outputSchema: issueSchema,
    call({ id }) {
      const issue = issues.find((candidate) => candidate.id === id);
      if (!issue) throw new Error(`there is no issue ${id}`);
      return issue;
    },
  },
};

const versions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: versions.includes(protocolVersion) ? protocolVersion : versions[0],
    capabilities: { tools: {} },
    serverInfo: { name: "issues", version: "0.1.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: Object.entries(tools).map(([name, { call, ...tool }]) => ({
      name,
      ...tool,
      annotations: { readOnlyHint: true },
    })),
  }),
  "tools/call": ({ name, arguments: input = {} }) => {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (!tool) throw Object.assign(new Error(`there is no tool ${name}`), { code: -32602 });
    try {
      const structuredContent = tool.call(input);
      return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
    } catch (error) {
      return { content: [{ type: "text", text: error.message }], isError: true };
    }
  },
};

// The answer to one line or body; nothing for a notification.
function answer(text) {
  let request;
  try {
    request = JSON.parse(text);
  } catch {
    return { jsonrpc: "2.0", id: null, error: { code: -32700, message: "this is not JSON" } };
  }
  const { id, method, params = {} } = request;
  if (id === undefined) return undefined;
  try {
    if (!Object.hasOwn(methods, method)) {
      throw Object.assign(new Error(`there is no method ${method}`), { code: -32601 });
    }
    return { jsonrpc: "2.0", id, result: methods[method](params) };
  } catch (error) {
    return { jsonrpc: "2.0", id, error: { code: error.code ?? -32603, message: error.message } };
  }
}

function serveHttp(port) {
  const server = createServer(async (request, response) => {
    if (request.method !== "POST" || request.url !== "/mcp") {
      response.writeHead(request.url === "/mcp" ? 405 : 404).end();
      return;
    }
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) {
      body += chunk;
      if (body.length > 1_000_000) return response.writeHead(413).end();
    }
    const reply = answer(body);
    if (reply === undefined) response.writeHead(202).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply));
  });
  server.listen(port, "127.0.0.1", () => {
    console.error(`issues at http://127.0.0.1:${server.address().port}/mcp`);
  });
}

function serveStdio() {
  createInterface({ input: process.stdin }).on("line", (line) => {
    const reply = line.trim() && answer(line);
    if (reply) process.stdout.write(`${JSON.stringify(reply)}\n`);
  });
}

const [flag, port] = process.argv.slice(2);
if (flag === "--http") serveHttp(Number(port ?? 8787));
else serveStdio();
