// What every page shows of the demo agents' objects and questions: plain components, without any vendor's API.

import { useState } from 'react';

export { Case, Draft, Itinerary, ObjectByFields, Table } from '../../../examples/web/shared/objects.jsx';

/** What the chat agent offers to ask next. */
export function FollowUps({ questions = [] }) {
  return questions.length > 0 && <p className="follow-ups">Ask next: {questions.join(', ')}</p>;
}

/** A question with its options, and the answer once there is one. */
export function Question({ text, options, answer, onAnswer }) {
  return (
    <section className="card question">
      <p>{text}</p>
      {answer === undefined ? (
        options.map((option) => (
          <button key={option.id} title={option.description} onClick={() => onAnswer(option.id)}>
            {option.label}
          </button>
        ))
      ) : (
        <p className="answer">Answered: {answer}</p>
      )}
    </section>
  );
}

/** A tool call that a person must allow. */
export function Approval({ tool, input, onDecide }) {
  return (
    <section className="card question">
      <p>
        Allow {tool} with {JSON.stringify(input)}?
      </p>
      <button onClick={() => onDecide(true)}>Approve</button>
      <button onClick={() => onDecide(false)}>Deny</button>
    </section>
  );
}

/** A tool call and what came of it. */
export function ToolCall({ name, state, children }) {
  return (
    <section className="card tool">
      <code>{name}</code> <span className="state">{state}</span>
      {children && <pre>{children}</pre>}
    </section>
  );
}

/** The form under a conversation. */
export function Composer({ busy, onSend }) {
  const submit = (event) => {
    event.preventDefault();
    const field = event.currentTarget.elements.text;
    if (!field.value.trim()) return;
    onSend(field.value);
    field.value = '';
  };
  return (
    <form onSubmit={submit}>
      <input name="text" aria-label="Message" placeholder="Say something" autoComplete="off" autoFocus />
      <button disabled={busy}>Send</button>
    </form>
  );
}

/** What a page offers beside sending: a button for each action that its library has. */
export function Controls(actions) {
  return (
    <nav>
      {Object.entries(actions).map(([name, act]) => (
        <button key={name} onClick={() => act()}>
          {name}
        </button>
      ))}
    </nav>
  );
}

/** Lets the user edit one of their messages. */
export function Edit({ text, onEdit }) {
  const [open, setOpen] = useState(false);
  if (!open) return <button onClick={() => setOpen(true)}>Edit</button>;
  const submit = (event) => {
    event.preventDefault();
    setOpen(false);
    onEdit(event.currentTarget.elements.edited.value);
  };
  return (
    <form onSubmit={submit}>
      <input name="edited" aria-label="Edited message" defaultValue={text} autoFocus />
    </form>
  );
}
