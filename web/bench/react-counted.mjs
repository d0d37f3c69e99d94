// React, whose state writes are counted: calls of setters, and of the listeners of external stores.
//
// Calls made in the same task are one write, however many hooks are notified.

import * as React from 'react-itself';

export * from 'react-itself';
export { default } from 'react-itself';

export const counts = { renders: 0, writes: 0, inTask: 0, mostInTask: 0 };

let isCounted = false;
const channel = new MessageChannel();
channel.port1.onmessage = () => (counts.inTask = 0);

function count() {
  if (isCounted) return;
  isCounted = true;
  queueMicrotask(() => (isCounted = false));
  counts.writes += 1;
  if (counts.inTask === 0) channel.port2.postMessage(null);
  counts.inTask += 1;
  counts.mostInTask = Math.max(counts.mostInTask, counts.inTask);
}

export function useSyncExternalStore(subscribe, getSnapshot, getServerSnapshot) {
  const counted = React.useCallback((listener) => subscribe(() => (count(), listener())), [subscribe]);
  return React.useSyncExternalStore(counted, getSnapshot, getServerSnapshot);
}

export function useState(initial) {
  const [state, set] = React.useState(initial);
  return [state, React.useCallback((next) => (count(), set(next)), [set])];
}

export function useReducer(...args) {
  const [state, dispatch] = React.useReducer(...args);
  return [state, React.useCallback((action) => (count(), dispatch(action)), [dispatch])];
}
