// What the models of a run said, as scripts for the scripted model: a run can be done again without a provider.

import type { NativeRecord } from '@headwater/client';

type Step = Record<string, unknown>;

interface Rule {
  when: { call: number };
  say: Step[];
  usage?: unknown;
  finish?: string;
}

export interface Script {
  name: string;
  rules: Rule[];
}

/**
 * A script for each model of a run, by its name. The n-th rule says what the model said when it was asked for the n-th time, so
 * that retries and nodes that ask the same model are in order. What a run does not show, such as a node without output, is
 * not in it.
 */
export function scriptsOf(records: readonly NativeRecord[]): Map<string, Script> {
  const scripts = new Map<string, Script>();
  const rules = new Map<string, { rule: Rule; blocks: Map<string, Step>; calls: Map<string, Step> }>();
  for (const { event, attempt } of records) {
    if (event.type === 'attempt-started') {
      const name = event.model ?? 'model';
      const script = scripts.get(name) ?? { name: fileName(name), rules: [] };
      scripts.set(name, script);
      const rule: Rule = { when: { call: script.rules.length }, say: [] };
      script.rules.push(rule);
      rules.set(event.attempt, { rule, blocks: new Map(), calls: new Map() });
      continue;
    }
    // What an attempt left is cut off where it ended.
    if (event.type === 'attempt-retracted') {
      rules.get(event.attempt)?.rule.say.push({ fault: 'cut' });
      continue;
    }
    const open = rules.get(attempt ?? '');
    if (!open) continue;
    const { rule, blocks, calls } = open;
    switch (event.type) {
      case 'block-started': {
        const step: Step = { [event.kind]: { text: '', ...(event.metadata !== undefined && { metadata: event.metadata }) } };
        blocks.set(event.id, step);
        rule.say.push(step);
        break;
      }
      case 'block-delta': {
        const words = blocks.get(event.id)?.[event.kind] as { text: string } | undefined;
        if (words) words.text += event.delta;
        break;
      }
      case 'block-ended': {
        const words = blocks.get(event.id)?.[event.kind] as { metadata?: unknown } | undefined;
        if (words && event.metadata !== undefined) words.metadata = event.metadata;
        break;
      }
      case 'tool-input-available': {
        const call: Step = { name: event.name, id: literal(event.call), input: literal(event.input), ...(event.metadata !== undefined && { metadata: event.metadata }) };
        calls.set(event.call, call);
        rule.say.push({ tool: call });
        break;
      }
      case 'tool-output': {
        // The provider ran the tool; those of the server run again.
        const call = calls.get(event.call);
        if (call) call['output'] = literal(event.output);
        break;
      }
      case 'source-url':
        rule.say.push({ source: { url: event.url, ...(event.title !== undefined && { title: event.title }) } });
        break;
      case 'source-document':
        rule.say.push({ source: given({ title: event.title, media_type: event.mediaType, filename: event.filename, text: event.text }) });
        break;
      case 'file':
        rule.say.push({ file: { media_type: event.mediaType, url: event.url } });
        break;
      case 'structured':
        if (event.kind === 'final') rule.say.push({ json: literal(event.data) });
        break;
      case 'usage': {
        const { type: _, ...usage } = event;
        rule.usage = usage;
        break;
      }
    }
  }
  for (const { rule } of rules.values()) {
    for (const step of rule.say) {
      for (const kind of ['text', 'reasoning'] as const) {
        const words = step[kind] as { text: string } | undefined;
        if (words) words.text = literal(words.text);
      }
    }
  }
  const end = records.at(-1)?.event;
  const last = [...rules.values()].at(-1)?.rule;
  if (last && end?.type === 'run-finished' && end.reason && end.reason !== 'stop') last.finish = end.reason;
  return scripts;
}

/** A name that a file can have. */
export const fileName = (model: string): string => model.replace(/[^\w.-]+/g, '-').slice(0, 40);

const given = (fields: Step): Step => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** A value whose texts are kept literally, also those that look like placeholders for a part of the request. */
function literal<T>(value: T): T {
  if (typeof value === 'string') return value.replace(/\{(input|turn|attempt|tool\.[^{}]*)\}/g, '{{$1}}') as T;
  if (Array.isArray(value)) return value.map(literal) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, literal(item)])) as T;
}
