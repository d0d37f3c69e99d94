// The objects of the demo agents. Their fields arrive one by one.

/** A draft of the agent `email`, as far as it is written. */
export function Draft({ subject, body, bullets = [] }) {
  return (
    <article className="card draft">
      <h3>{subject}</h3>
      {body && <p>{body}</p>}
      <ul>
        {bullets.map((bullet) => (
          <li key={bullet}>{bullet}</li>
        ))}
      </ul>
    </article>
  );
}

/** A table of the agent `table`, as far as it is filled. */
export function Table({ title, columns = [], rows = [], caption }) {
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
      {caption && <p className="caption">{caption}</p>}
    </article>
  );
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

/** An object whose type the wire does not name: its fields say which it is. */
export function ObjectByFields({ value }) {
  if (value?.subject !== undefined) return <Draft {...value} />;
  if (value?.order !== undefined) return <Case {...value} />;
  if (value?.city !== undefined) return <Itinerary {...value} />;
  if (value?.title !== undefined) return <Table {...value} />;
  return null;
}
