// What every page shows of the demo agents' objects and questions: plain components, without any vendor's API.

import { useState } from 'react';

/** A draft of the agent `email`, as far as it is written. */
export function Draft({ subject, body, bullets }) {
  return (
    <article className="card draft">
      <h3>{subject}</h3>
      {body && <p>{body}</p>}
      {bullets?.length > 0 && (
        <ul>
          {bullets.map((bullet) => (
            <li key={bullet}>{bullet}</li>
          ))}
        </ul>
      )}
    </article>
  );
}

/** A table of the agent `table`, as far as it is filled. */
export function Grid({ title, columns = [], rows = [], caption }) {
  return (
    <article className="card grid">
      <h3>{title}</h3>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column}>{column}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, at) => (
                <td key={at}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {caption && <p>{caption}</p>}
    </article>
  );
}

/** An object whose type the wire does not name: its fields say which it is. */
export function StructuredObject({ value }) {
  if (value?.subject !== undefined) return <Draft {...value} />;
  if (value?.order !== undefined) return <Case {...value} />;
  if (value?.city !== undefined) return <Itinerary {...value} />;
  if (value?.title !== undefined) return <Grid {...value} />;
  return null;
}

/** A trip of the agent `travel`, as far as it is planned. */
export function Itinerary({ title, dates, days = [], costs = [], total }) {
  return (
    <article className="card itinerary">
      <h3>{title}</h3>
      {dates && <p>{dates}</p>}
      {days.map(({ day, title, morning, afternoon, evening }) => (
        <section key={day} className="day">
          <h4>
            Day {day}: {title}
          </h4>
          <dl>
            <dt>Morning</dt>
            <dd>{morning}</dd>
            <dt>Afternoon</dt>
            <dd>{afternoon}</dd>
            <dt>Evening</dt>
            <dd>{evening}</dd>
          </dl>
        </section>
      ))}
      {costs.length > 0 && (
        <table>
          <tbody>
            {costs.map(({ item, euros }) => (
              <tr key={item}>
                <td>{item}</td>
                <td>€{euros}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {total !== undefined && <p className="total">Total: €{total}</p>}
    </article>
  );
}

/** What came of a case of the agent `support`. */
export function Case({ order, item, status, paid, refunded, note }) {
  return (
    <article className="card case">
      <h3>
        Case {order}: {status}
      </h3>
      <p>
        {item}: €{refunded} of €{paid} refunded
      </p>
      <p>{note}</p>
    </article>
  );
}

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

/** Lets the person write one of their messages anew. */
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
