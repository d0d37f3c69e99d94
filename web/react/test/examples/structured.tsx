import type { StreamChunk } from '@headwater/client/kortyx';
import { useStructuredStreams } from '@headwater/react';

export function StructuredView({ subscribe }: { subscribe: (onChunk: (chunk: StreamChunk) => void) => void }) {
  const structured = useStructuredStreams<Record<string, unknown>>();

  function onChunk(chunk: StreamChunk) {
    structured.applyStreamChunk(chunk);
  }

  return <button onClick={() => subscribe(onChunk)}>{structured.items.map(({ data }) => JSON.stringify(data))}</button>;
}
