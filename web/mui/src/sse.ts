/** Reads the events of a response whose server is known: fields the server does not send are not looked for. */
export async function* readEvents(body: ReadableStream<Uint8Array> | null): AsyncGenerator<{ id?: string; data: string }, void, undefined> {
  // Safari cannot iterate over a body.
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let event: { id?: string; data?: string } = {};
  try {
    for (let step = await reader?.read(); step && !step.done; step = await reader?.read()) {
      const lines = decoder.decode(step.value, { stream: true }).split('\n');
      // A long line in many pieces is searched for its end once.
      lines[0] = rest + lines[0];
      rest = lines.pop() as string;
      for (const line of lines) {
        // `s`, because JSON may have the line separators of Unicode as they are.
        const [, field, value = ''] = /^(id|data): ?(.*?)\r?$/s.exec(line) ?? [];
        if (field === 'id') event.id = value;
        else if (field) event.data = event.data === undefined ? value : `${event.data}\n${value}`;
        else if (!line.trim()) {
          const { data } = event;
          if (data !== undefined) yield { ...event, data };
          event = {};
        }
      }
    }
  } finally {
    reader?.cancel().catch(() => {});
  }
}
