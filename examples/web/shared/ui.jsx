// What the React pages share: a frame, and a card for each thing that the demo agents show. No chat library in here.

import './style.css';
import { useEffect, useRef } from 'react';
import { Case, Draft, Itinerary, Table } from './objects.jsx';
import { AGENTS, address, agent } from './settings.js';

/** The frame of a page: a title, the agents to choose from, the conversation. */
export function Shell({ title, children }) {
  return (
    <>
      <header>
        <strong>{title}</strong>
        <nav>
          {Object.keys(AGENTS).map((name) => (
            <a key={name} href={address(name)} aria-current={name === agent ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <a className="new" href={address(agent)}>
          New chat
        </a>
      </header>
      {children}
    </>
  );
}

/** The conversation, which stays at its end while it grows. */
export function Conversation({ children }) {
  const end = useRef(null);
  useEffect(() => {
    end.current.scrollIntoView({ block: 'end' });
  });
  return (
    <main>
      {children}
      <div ref={end} />
    </main>
  );
}

/** What to try, while there is nothing else to show. */
export function Suggestions({ onPick }) {
  return (
    <section className="suggestions">
      <p>Try</p>
      {(AGENTS[agent] ?? ['hello']).map((text) => (
        <button key={text} type="button" onClick={() => onPick(text)}>
          {text}
        </button>
      ))}
    </section>
  );
}

export function Message({ role, children }) {
  return <section className={`message ${role}`}>{children}</section>;
}

export const Text = ({ children }) => <p className="text">{children}</p>;

export function Reasoning({ children }) {
  return (
    <details className="reasoning">
      <summary>Thoughts</summary>
      <p>{children}</p>
    </details>
  );
}

/** An object of an agent, by the name of its type. */
export function DataCard({ type, data }) {
  if (!data) return null;
  if (type === 'email.compose') return <Draft {...data} />;
  if (type === 'table') return <Table {...data} />;
  if (type === 'itinerary') return <Itinerary {...data} />;
  if (type === 'support.case') return <Case {...data} />;
  return null;
}

/** A tool call and what came of it. */
export function Tool({ name, done, children }) {
  return (
    <section className="card tool" data-done={Boolean(done)}>
      <code>{name}</code>
      {children && <pre>{typeof children === 'string' ? children : JSON.stringify(children)}</pre>}
    </section>
  );
}

/** A tool call that a person must allow. */
export function Approval({ tool, input, onDecide }) {
  return (
    <section className="card ask">
      <p>
        Allow <code>{tool}</code> {input && <code>{JSON.stringify(input)}</code>}?
      </p>
      <button type="button" onClick={() => onDecide(true)}>
        Approve
      </button>
      <button type="button" className="quiet" onClick={() => onDecide(false)}>
        Deny
      </button>
    </section>
  );
}

/** A question with its options, and the answer once there is one. */
export function Question({ question, options = [], answer, onAnswer }) {
  return (
    <section className="card ask">
      <p>{question}</p>
      {answer === undefined ? (
        options.map(({ id, label, description }) => (
          <button key={id} type="button" title={description} onClick={() => onAnswer(id)}>
            {label}
          </button>
        ))
      ) : (
        <p className="answer">{options.find(({ id }) => id === answer)?.label ?? String(answer)}</p>
      )}
    </section>
  );
}

export const Failure = ({ error }) => error && <p className="error">{error.message ?? error}</p>;

/** The form under a conversation, with what else a person may do. */
export function Composer({ busy, onSend, onStop, onRegenerate }) {
  const submit = (event) => {
    event.preventDefault();
    const field = event.currentTarget.elements.text;
    const text = field.value.trim();
    if (!text || busy) return;
    field.value = '';
    onSend(text);
  };
  return (
    <footer>
      <div className="actions">
        {busy && <span className="busy">Answering</span>}
        {busy && (
          <button type="button" onClick={() => onStop()}>
            Stop
          </button>
        )}
        {!busy && onRegenerate && (
          <button type="button" onClick={() => onRegenerate()}>
            Regenerate
          </button>
        )}
      </div>
      <form onSubmit={submit}>
        <input name="text" aria-label="Message" placeholder={`Say something to ${agent}`} autoComplete="off" autoFocus />
        <button disabled={busy}>Send</button>
      </form>
    </footer>
  );
}
