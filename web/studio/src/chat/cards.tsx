import type { Choice, InterruptKind } from '@headwater/client';
import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from '../icon';
import { Json } from '../json';

/** What a run waits for, from a chat or from the inbox. */
export type Ask =
  | { kind: 'question'; request: string; question: string; answers: InterruptKind; multiple: boolean; options: Choice[] }
  | { kind: 'approval'; request: string; name: string; title?: string | undefined; input: unknown }
  | { kind: 'client-tool'; request: string; name: string; input: unknown };

/** One of the bodies that the server takes as an answer. */
export type Answer =
  | { answer: unknown }
  | { declined: true }
  | { approved: boolean; reason?: string | undefined }
  | { output: unknown }
  | { error: string };

/** A card that asks a person. It shows why an answer was refused, and can be tried again. */
export function AskCard({ ask, onAnswer }: { ask: Ask; onAnswer: (answer: Answer) => Promise<unknown> }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const give = (answer: Answer) => {
    setBusy(true);
    setProblem('');
    onAnswer(answer).then(
      () => setBusy(false),
      (error: unknown) => {
        setBusy(false);
        setProblem(error instanceof Error ? error.message : String(error));
      },
    );
  };
  return (
    <section class="card ask" aria-label={ask.kind === 'question' ? 'Question' : ask.kind === 'approval' ? 'Approval' : 'Tool of the page'}>
      {ask.kind === 'question' && <Question ask={ask} busy={busy} give={give} />}
      {ask.kind === 'approval' && <Approval ask={ask} busy={busy} give={give} />}
      {ask.kind === 'client-tool' && <ClientTool ask={ask} busy={busy} give={give} />}
      {problem && <p class="problem" role="alert"><Icon name="alert" />{problem}</p>}
    </section>
  );
}

type Props<K extends Ask['kind']> = { ask: Extract<Ask, { kind: K }>; busy: boolean; give: (answer: Answer) => void };

/** Drafts of answers, by request: a card leaves and returns when another answer continues the run. */
const drafts = new Map<string, string>();

function useDraft(request: string, initial = ''): [string, (text: string) => void] {
  const [text, setText] = useState(drafts.get(request) ?? initial);
  const keep = (now: string) => {
    drafts.set(request, now);
    setText(now);
  };
  return [text, keep];
}

function Question({ ask, busy, give }: Props<'question'>) {
  const [text, setText] = useDraft(ask.request);
  const [chosen, setChosen] = useState<string[]>([]);
  const several = ask.answers === 'multi-choice' || ask.multiple;
  const toggle = (id: string) => setChosen((held) => (held.includes(id) ? held.filter((other) => other !== id) : [...held, id]));
  return (
    <>
      <p class="title"><Icon name="clock" /><span>{ask.question || 'The run waits for an answer'}</span></p>
      {ask.answers === 'text' ? (
        <form onSubmit={(event) => { event.preventDefault(); if (text.trim()) give({ answer: text }); }}>
          <input aria-label="Your answer" value={text} onInput={(event) => setText(event.currentTarget.value)} placeholder="Your answer" />
          <button type="submit" class="first" disabled={busy || !text.trim()}>Answer</button>
          <button type="button" disabled={busy} onClick={() => give({ declined: true })}>Decline</button>
        </form>
      ) : several ? (
        <form onSubmit={(event) => { event.preventDefault(); give({ answer: chosen }); }}>
          <div class="choices">
            {ask.options.map(({ id, label, description }) => (
              <label key={id}><input type="checkbox" checked={chosen.includes(id)} onChange={() => toggle(id)} />{label}{description && <span class="soft"> {description}</span>}</label>
            ))}
          </div>
          <button type="submit" class="first" disabled={busy}>Answer</button>
          <button type="button" disabled={busy} onClick={() => give({ declined: true })}>Decline</button>
        </form>
      ) : (
        <div class="buttons">
          {ask.options.map(({ id, label, description }, at) => (
            <button key={id} type="button" class={at === 0 ? 'first' : ''} title={description} disabled={busy} onClick={() => give({ answer: id })}>{label}</button>
          ))}
          <button type="button" class="quiet" disabled={busy} onClick={() => give({ declined: true })}>Decline</button>
        </div>
      )}
    </>
  );
}

function Approval({ ask, busy, give }: Props<'approval'>) {
  const [reason, setReason] = useDraft(ask.request);
  const why = reason.trim() || undefined;
  return (
    <>
      <p class="title"><Icon name="clock" /><span>{ask.title ? <>Allow “{ask.title}”? <code class="soft">{ask.name}</code></> : <>Allow <code>{ask.name}</code>?</>}</span></p>
      <Input value={ask.input ?? {}} />
      <form onSubmit={(event) => { event.preventDefault(); give({ approved: true, reason: why }); }}>
        <input aria-label="Reason" value={reason} onInput={(event) => setReason(event.currentTarget.value)} placeholder="Reason, if you like" />
        <button type="submit" class="first" disabled={busy}>Allow</button>
        <button type="button" disabled={busy} onClick={() => give({ approved: false, reason: why })}>Refuse</button>
      </form>
    </>
  );
}

function ClientTool({ ask, busy, give }: Props<'client-tool'>) {
  const [text, setText] = useDraft(ask.request, ask.name === 'get_location' ? '{ "city": "Oslo" }' : '{}');
  const parsed = parse(text);
  return (
    <>
      <p class="title"><Icon name="tool" /><span>The page runs <code>{ask.name}</code>: what does it give?</span></p>
      <Input value={ask.input ?? {}} />
      <form onSubmit={(event) => { event.preventDefault(); if (parsed) give({ output: parsed.value }); }}>
        <input class="mono" aria-label="Output as JSON" value={text} aria-invalid={!parsed} onInput={(event) => setText(event.currentTarget.value)} spellcheck={false} />
        <button type="submit" class="first" disabled={busy || !parsed}>Answer</button>
        <button type="button" disabled={busy} onClick={() => give({ error: 'the tool failed on the page' })}>Fail</button>
      </form>
      {!parsed && <p class="problem">This is not JSON.</p>}
    </>
  );
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** What a tool would be called with: its fields, if all of them are plain values, and otherwise the whole as JSON. Nothing is cut off. */
function Input({ value }: { value: unknown }) {
  const fields = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  if (fields.length === 0 || fields.some(([, field]) => typeof field === 'object')) return <Json value={value} />;
  return <dl class="fields">{fields.map(([name, field]) => <Fragment key={name}><dt>{name}</dt><dd>{String(field)}</dd></Fragment>)}</dl>;
}
