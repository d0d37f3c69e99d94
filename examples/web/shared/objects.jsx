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
