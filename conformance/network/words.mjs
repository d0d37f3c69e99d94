/** The words of the model, for servers whose packages have no provider of their own for it. */
export async function* words(model, messages) {
  const given = new AbortController();
  try {
    const response = await fetch(`${model}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'script', stream: true, messages }),
      signal: given.signal,
    });
    let rest = '';
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (!line.startsWith('data: {')) continue;
        const content = JSON.parse(line.slice(6)).choices[0]?.delta.content;
        if (content) yield content;
      }
    }
  } finally {
    // Who hangs up stops the model.
    given.abort();
  }
}
