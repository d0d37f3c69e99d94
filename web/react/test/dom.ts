// A page for React to render into.

import { JSDOM } from 'jsdom';

const { window } = new JSDOM('<!doctype html><div id="root"></div>', { url: 'http://page.test/' });
// Node has a navigator of its own from version 21 on, which cannot be assigned.
Object.defineProperty(globalThis, 'navigator', { value: window.navigator, configurable: true });
Object.assign(globalThis, { window, document: window.document, IS_REACT_ACT_ENVIRONMENT: true });

const { createRoot } = await import('react-dom/client');
const { act, StrictMode, createElement } = await import('react');

/** What React and the page complained about. */
export const complaints: string[] = [];
console.error = (...parts: unknown[]) => complaints.push(parts.map(String).join(' '));

export interface Rendered {
  /** The text of the page. */
  text(): string;
  /** Clicks on the first button. */
  click(): void;
  rerender(element: React.ReactNode): Promise<void>;
  unmount(): Promise<void>;
}

/** Renders in `StrictMode`, which mounts everything twice. */
export async function render(element: React.ReactNode): Promise<Rendered> {
  const container = window.document.createElement('div');
  const root = createRoot(container);
  const show = (node: React.ReactNode) => act(async () => root.render(createElement(StrictMode, null, node)));
  await show(element);
  window.document.body.append(container);
  const click = () => container.querySelector('button')?.click();
  return { text: () => container.textContent ?? '', click, rerender: show, unmount: () => act(async () => root.unmount()) };
}

/** Waits in the way of React until a condition holds; the runner's own limit ends a wait that is in vain. */
export async function until(condition: () => unknown): Promise<void> {
  while (!condition()) await act(() => new Promise((resolve) => setTimeout(resolve, 2)));
}

export { act };
