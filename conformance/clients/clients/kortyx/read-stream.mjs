// `readStream` of @kortyx/stream as recorded, bugs included: a block counts only if it begins with `data: `.

export async function* readStream(body) {
  if (!body) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let buffer = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += decoder.decode(value, { stream: true });
    const blocks = buffer.split('\n\n');
    buffer = blocks.pop();
    for (const block of blocks) {
      if (!block.startsWith('data: ')) continue;
      const payload = block.slice(6);
      if (payload.trim() === '[DONE]') return;
      try {
        yield JSON.parse(payload);
      } catch {
        console.warn('kortyx: not JSON:', payload);
      }
    }
  }
}
