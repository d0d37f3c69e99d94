/**
 * The model that all servers call: one process that speaks OpenAI's chat completions, and counts what it says.
 *
 *   node model.mjs WORDS PACE_MS      # prints `listening PORT`
 *
 * A question is `repeat k3t1`, and its answer the words `k3t1w0 k3t1w1 …`, one each `PACE_MS`. It stops when its caller hangs up, as
 * providers do. `GET /count` gives how many words were said for each question.
 */
import { createServer } from 'node:http';

const [words, pace] = process.argv.slice(2).map(Number);
/** How many words were said, by the name of the question. */
const said = new Map();

const textOf = (content) => (typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join(''));

function answer(request, response, { messages }) {
  const question = textOf(messages.findLast(({ role }) => role === 'user')?.content).match(/k\d+t\d+/)?.[0] ?? 'k0t0';
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (choice) => response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'script', choices: [{ index: 0, ...choice }] })}\n\n`);
  send({ delta: { role: 'assistant', content: '' }, finish_reason: null });
  const begun = performance.now();
  let at = 0;
  const timer = setInterval(() => {
    // What a busy machine made late is made up for, so that the pace is the same on average.
    const due = Math.min(words, Math.floor((performance.now() - begun) / pace));
    for (; at < due; at += 1) {
      said.set(question, (said.get(question) ?? 0) + 1);
      send({ delta: { content: `${question}w${at} ` }, finish_reason: null });
    }
    if (at < words) return;
    clearInterval(timer);
    send({ delta: {}, finish_reason: 'stop' });
    const usage = { prompt_tokens: 1, completion_tokens: words, total_tokens: words + 1 };
    response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'script', choices: [], usage })}\n\n`);
    response.end('data: [DONE]\n\n');
  }, pace);
  response.on('close', () => clearInterval(timer));
}

const server = createServer(async (request, response) => {
  if (request.url === '/count') return response.end(JSON.stringify(Object.fromEntries(said)));
  let body = '';
  for await (const piece of request) body += piece;
  answer(request, response, JSON.parse(body));
});
server.listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`));
// The process that started it closes this pipe when it ends.
process.stdin.on('end', () => process.exit()).resume();
