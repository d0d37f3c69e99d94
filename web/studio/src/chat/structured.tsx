import { line } from '../format';

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const isPlain = (value: unknown) => typeof value !== 'object' || value === null;

/** An object for people: a table where it is one, a list, or its fields. It may still grow. */
export function Structured({ value, depth = 0 }: { value: unknown; depth?: number }) {
  if (value === undefined || value === null) return <span class="soft">{depth > 0 ? '—' : '…'}</span>;
  if (typeof value === 'boolean') return <>{value ? 'yes' : 'no'}</>;
  if (isPlain(value)) return <span class="prose">{String(value)}</span>;
  if (depth > 4) return <code>{line(value, 200)}</code>;
  if (Array.isArray(value)) return <List items={value} depth={depth} />;
  const { title, caption, columns, rows, ...rest } = value as Record<string, unknown>;
  if (Array.isArray(columns) && (rows === undefined || Array.isArray(rows))) {
    return (
      <>
        {typeof title === 'string' && <h4>{title}</h4>}
        <Table columns={columns.map(label)} rows={(rows ?? []).map((row) => (Array.isArray(row) ? row : isObject(row) ? columns.map((column) => row[keyOf(column)]) : [row]))} depth={depth} />
        {typeof caption === 'string' && <p class="soft">{caption}</p>}
        {Object.keys(rest).length > 0 && <Fields value={rest} depth={depth} />}
      </>
    );
  }
  if (typeof title === 'string') {
    const { title: _, ...others } = value as Record<string, unknown>;
    return (
      <>
        <h4>{title}</h4>
        <Fields value={others} depth={depth} />
      </>
    );
  }
  return <Fields value={value as Record<string, unknown>} depth={depth} />;
}

/** As much as a cell of a table can show without becoming a tower of words. */
const CELL = 40;

function List({ items, depth }: { items: unknown[]; depth: number }) {
  const objects = items.filter(isObject);
  if (items.length > 0 && objects.length === items.length) {
    const keys = [...new Set(objects.flatMap((item) => Object.keys(item)))];
    if (keys.length <= 6 && objects.every((item) => Object.values(item).every((cell) => isPlain(cell) && String(cell).length <= CELL))) {
      return <Table columns={keys} rows={objects.map((item) => keys.map((key) => item[key]))} depth={depth} />;
    }
  }
  return <ul class={objects.length > 0 ? 'items' : ''}>{items.map((item, at) => <li key={at}><Structured value={item} depth={depth + 1} /></li>)}</ul>;
}

function Table({ columns, rows, depth }: { columns: string[]; rows: unknown[][]; depth: number }) {
  return (
    <div class="scroll" tabIndex={0}>
      <table>
        <thead><tr>{columns.map((column, at) => <th key={at} class={typeof rows[0]?.[at] === 'number' ? 'number' : ''}>{column}</th>)}</tr></thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>{row.map((cell, index) => <td key={index} class={typeof cell === 'number' ? 'number' : ''}><Structured value={cell} depth={depth + 1} /></td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Fields({ value, depth }: { value: Record<string, unknown>; depth: number }) {
  return (
    <dl class="fields">
      {Object.entries(value).map(([key, item]) => (
        <div key={key} class="field"><dt>{key}</dt><dd><Structured value={item} depth={depth + 1} /></dd></div>
      ))}
    </dl>
  );
}

/** A column is a name, or an object that has one. */
const label = (column: unknown): string => (isObject(column) ? String(column.label ?? column.title ?? column.name ?? column.key ?? '') : String(column));
const keyOf = (column: unknown): string => (isObject(column) ? String(column.key ?? column.id ?? column.name ?? '') : String(column));
