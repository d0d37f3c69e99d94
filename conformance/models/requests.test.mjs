// What each vendor's SDK sends for a call, compared with what we send for the same: files in `requests/`, which a Rust test
// holds to what our wires write. Where the two may differ, `differences.json` says why.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";

import { calls } from "./calls.mjs";

const here = new URL("./", import.meta.url);
const allowed = JSON.parse(readFileSync(new URL("differences.json", here)));
const used = new Set();

/** Runs a call against a server on the loopback, and gives the path and the body that it was sent. */
async function sent(call) {
  let resolve;
  const request = new Promise((done) => (resolve = done));
  const server = createServer((incoming, reply) => {
    const pieces = [];
    incoming.on("data", (piece) => pieces.push(piece));
    incoming.on("end", () => {
      resolve({ path: incoming.url, body: JSON.parse(Buffer.concat(pieces)) });
      // The response does not matter: the call may fail.
      reply.writeHead(400, { "content-type": "application/json", connection: "close" });
      reply.end('{"error":{"message":"enough"}}');
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${server.address().port}`;
  try {
    const failed = call(url).then(
      () => {},
      (error) => error,
    );
    const raced = await Promise.race([request, failed.then((error) => ({ error }))]);
    // The answer may be there before the request was handed over here.
    const got = raced.path ? raced : await Promise.race([request, new Promise((done) => setImmediate(() => done(raced)))]);
    await failed;
    if (!got.path) throw got.error;
    return got;
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** The places at which two values differ. */
function differences(theirs, ours, path = "") {
  if (Array.isArray(theirs) && Array.isArray(ours)) {
    return Array.from({ length: Math.max(theirs.length, ours.length) }).flatMap((_, at) =>
      differences(theirs[at], ours[at], `${path}[${at}]`),
    );
  }
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  if (isObject(theirs) && isObject(ours)) {
    return [...new Set([...Object.keys(theirs), ...Object.keys(ours)])].flatMap((key) =>
      differences(theirs[key], ours[key], path ? `${path}.${key}` : key),
    );
  }
  return Object.is(theirs, ours) ? [] : [{ path, theirs, ours }];
}

/** Whether a difference is one that may be. */
function isAllowed(name, { path, theirs, ours }) {
  const entry = allowed.find(
    (entry) =>
      new RegExp(`^(${entry.calls})$`).test(name) &&
      new RegExp(`^(${entry.path})$`).test(path) &&
      (!("theirs" in entry) || JSON.stringify(entry.theirs) === JSON.stringify(theirs ?? null)) &&
      (!("ours" in entry) || JSON.stringify(entry.ours) === JSON.stringify(ours ?? null)),
  );
  if (entry) used.add(entry);
  return entry !== undefined;
}

const files = readdirSync(new URL("requests/", here)).map((file) => file.replace(/\.json$/, ""));

test("every request of ours has a call of the vendor's", () => {
  assert.deepEqual(files.toSorted(), Object.keys(calls).toSorted());
});

for (const [name, call] of Object.entries(calls)) {
  test(`${name} is what the vendor's SDK sends`, async () => {
    const ours = JSON.parse(readFileSync(new URL(`requests/${name}.json`, here)));
    const theirs = await sent(call);
    // Some SDKs have the version in the path and some in the address.
    const path = theirs.path.replace(/^\/v1beta|^(\/openai)?\/v1(?=\/chat)/, "");
    assert.equal(path, ours.path);
    const wrong = differences(theirs.body, ours.body).filter((difference) => !isAllowed(name, difference));
    assert.deepEqual(wrong, []);
  });
}

test("every allowed difference is one, and has a reason", () => {
  for (const entry of allowed) {
    assert.ok(entry.reason?.length > 10, JSON.stringify(entry));
    assert.ok(used.has(entry), `nothing differs in this way any more: ${JSON.stringify(entry)}`);
  }
});
