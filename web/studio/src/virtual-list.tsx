// A list of which only the rows in view are drawn. All rows have one height, but for the one that is open.

import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Rows that are drawn above and below those in view. */
const MARGIN = 12;

interface Props<T> {
  items: readonly T[];
  rowHeight: number;
  /** The place of the row that is open, or -1. */
  openAt: number;
  label: string;
  keyOf: (item: T) => string | number;
  row: (item: T, at: number) => ComponentChildren;
  /** The arrow keys open the row before or after the open one. */
  onOpen: (item: T) => void;
  /** What is shown below the open row. */
  detail: (item: T) => ComponentChildren;
}

export function VirtualList<T>({ items, rowHeight, openAt, label, keyOf, row, detail, onOpen }: Props<T>) {
  const list = useRef<HTMLOListElement>(null);
  const opened = useRef<HTMLDivElement>(null);
  const isMoving = useRef(false);
  const [view, setView] = useState({ from: 0, to: 40 });
  const [openHeight, setOpenHeight] = useState(0);
  const extra = openAt >= 0 ? openHeight : 0;

  const placeOf = (offset: number) => {
    const end = (openAt + 1) * rowHeight;
    return Math.floor((openAt < 0 || offset <= end ? offset : Math.max(end - 1, offset - extra)) / rowHeight);
  };
  const look = () => {
    const box = list.current;
    const scroller = box?.closest<HTMLElement>('.body');
    if (!box || !scroller) return;
    const above = scroller.getBoundingClientRect().top - box.getBoundingClientRect().top;
    const from = Math.max(0, placeOf(Math.max(0, above)) - MARGIN);
    const to = Math.max(0, placeOf(Math.max(0, above + scroller.clientHeight)) + MARGIN);
    setView((held) => (held.from === from && held.to === to ? held : { from, to }));
  };
  const latest = useRef(look);
  latest.current = look;

  useLayoutEffect(look);
  useEffect(() => {
    const scroller = list.current?.closest<HTMLElement>('.body');
    if (!scroller) return;
    const changed = () => latest.current();
    scroller.addEventListener('scroll', changed, { passive: true });
    const observer = new ResizeObserver(changed);
    observer.observe(scroller);
    return () => {
      scroller.removeEventListener('scroll', changed);
      observer.disconnect();
    };
  }, []);
  // A row that a URL names is brought into view.
  useEffect(() => {
    const box = list.current;
    const scroller = box?.closest<HTMLElement>('.body');
    if (!box || !scroller || openAt < 0) return;
    const top = box.getBoundingClientRect().top - scroller.getBoundingClientRect().top + openAt * rowHeight;
    if (top < 0 || top > scroller.clientHeight - 2 * rowHeight) scroller.scrollTop += top - scroller.clientHeight / 4;
  }, [openAt >= 0 && items[openAt] && keyOf(items[openAt])]);
  const isDrawn = openAt >= view.from && openAt < view.to;
  useEffect(() => {
    const box = opened.current;
    if (!box) return;
    const observer = new ResizeObserver(() => setOpenHeight(box.offsetHeight));
    observer.observe(box);
    return () => observer.disconnect();
  }, [openAt, isDrawn]);

  const pressed = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = step && items[openAt + step];
    if (openAt < 0 || !next || !(event.target as HTMLElement).matches('li > button')) return;
    event.preventDefault();
    isMoving.current = true;
    onOpen(next);
  };
  useEffect(() => {
    if (isMoving.current) list.current?.querySelector<HTMLElement>('li.on > button')?.focus({ preventScroll: true });
    isMoving.current = false;
  }, [openAt]);

  const from = Math.min(view.from, items.length);
  const to = Math.min(view.to, items.length);
  const style = {
    paddingTop: `${from * rowHeight + (openAt >= 0 && openAt < from ? extra : 0)}px`,
    paddingBottom: `${(items.length - to) * rowHeight + (openAt >= to ? extra : 0)}px`,
  };
  return (
    <ol ref={list} class="virtual" aria-label={label} style={style} onKeyDown={pressed}>
      {items.slice(from, to).map((item, index) => {
        const at = from + index;
        return (
          <li key={keyOf(item)} class={at === openAt ? 'on' : ''} aria-setsize={items.length} aria-posinset={at + 1}>
            {row(item, at)}
            {at === openAt && <div ref={opened}>{detail(item)}</div>}
          </li>
        );
      })}
    </ol>
  );
}
