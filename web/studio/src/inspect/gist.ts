import type { NativeRecord } from '@headwater/client';
import { line } from '../format';

/** Whether an event is good or bad news, or asks for something. */
export function toneOf(type: string): string {
  if (/failed|error|retracted|denied|cancelled|expired/.test(type)) return 'bad';
  if (/requested|waiting/.test(type)) return 'waiting';
  if (/^run|checkpoint/.test(type)) return 'good';
  return '';
}

/** What a record is about, in one line. */
export function gist({ event }: NativeRecord): string {
  const { type, ...rest } = event as { type: string } & Record<string, unknown>;
  const { delta, content, name, model, reason, error, message, path, value, items, data, output, label, question, url } = rest as Record<string, never>;
  if (type === 'structured' && delta !== undefined) return `${line(path, 60)} += ${JSON.stringify(delta)}`;
  if (delta !== undefined) return line(delta, 160);
  if (type === 'structured') return line([path, value ?? items ?? data].filter((part) => part !== undefined).map((part) => line(part)).join(' = '), 160);
  if (type === 'usage') return `${rest.inputTokens ?? 0} in, ${rest.outputTokens ?? 0} out`;
  const first = content ?? question ?? name ?? model ?? label ?? url;
  const second = error ?? reason ?? output ?? (type === 'data' ? data : undefined) ?? (type.startsWith('run') ? message : undefined) ?? rest.input;
  return [first, second].filter((part) => part !== undefined).map((part) => line(part)).join(' · ');
}
