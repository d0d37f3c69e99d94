import DOMPurify from 'dompurify';
import { marked, type Token } from 'marked';
import { memo } from 'preact/compat';
import { useEffect, useMemo, useState } from 'preact/hooks';

marked.use({ gfm: true, breaks: false });

/** What a text may contain: nothing that loads, runs, or looks like a part of this page. */
const ALLOWED = {
  ALLOWED_TAGS: [
    'a', 'blockquote', 'br', 'code', 'del', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'input', 'li', 'ol', 'p', 'pre', 'span', 'strong', 'table', 'tbody', 'td',
    'th', 'thead', 'tr', 'ul',
  ],
  ALLOWED_ATTR: ['href', 'title', 'align', 'start', 'type', 'checked', 'class', 'disabled', 'target', 'rel', 'tabindex'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

const purify = DOMPurify(window);
purify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName === 'A') {
    node.setAttribute('target', '_blank');
    node.setAttribute('rel', 'noopener noreferrer');
  }
  // Only the colours of code have classes.
  if (node.hasAttribute('class') && !/^hljs-/.test(node.getAttribute('class') ?? '')) node.removeAttribute('class');
  // A task list has boxes that cannot be ticked; other inputs are not Markdown.
  if (node.tagName === 'INPUT' && !(node.getAttribute('type') === 'checkbox' && node.hasAttribute('disabled'))) node.remove();
  // A long line of code scrolls, also with the keyboard.
  if (node.tagName === 'PRE') node.setAttribute('tabindex', '0');
});

/** A block of code that is longer is not coloured: it would be coloured anew with every piece that arrives. */
const MAX_COLOURED = 20_000;
let highlighter: typeof import('./highlight') | undefined;
let loading: Promise<void> | undefined;

const renderer = new marked.Renderer();
// HTML in a text is text: people see what the model wrote.
renderer.html = ({ text }) => escape(text);
// A picture from elsewhere would tell its server that the text was read.
renderer.image = ({ href, text }) => `<a href="${escape(href)}">${escape(text || href)}</a>`;
renderer.code = ({ text, lang }) => `<pre><code>${coloured(text, lang?.match(/^\w+/)?.[0]?.toLowerCase())}\n</code></pre>`;

const coloured = (text: string, language: string | undefined): string =>
  (language && text.length <= MAX_COLOURED ? highlighter?.highlight(text, language) : undefined) ?? escape(text);

const escape = (text: string) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

/** Text in Markdown, also while it grows: code that is not closed yet is code. */
export function Markdown({ text, streaming = false }: { text: string; streaming?: boolean }) {
  const tokens = useMemo(() => marked.lexer(text).filter(({ type }) => type !== 'space' && type !== 'def'), [text]);
  const colours = useHighlighter(tokens.some(hasLanguage));
  return (
    <div class={streaming ? 'markdown growing' : 'markdown'}>
      {tokens.map((token, at) => <Block key={at} raw={token.raw} token={token} colours={colours && hasLanguage(token)} />)}
    </div>
  );
}

/** Code in the colours of its language, once they are loaded. */
export function Code({ text, language }: { text: string; language: string }) {
  const colours = useHighlighter(true);
  const html = useMemo(() => purify.sanitize(coloured(text, language), ALLOWED), [text, language, colours]);
  return <code dangerouslySetInnerHTML={{ __html: html }} />;
}

/** A paragraph, a list, a block of code. Only the last one changes while a text grows, so the others are not drawn again. */
const Block = memo(
  function Block({ token }: { token: Token; raw: string; colours: boolean }) {
    const html = purify.sanitize(marked.parser([token], { ...marked.defaults, renderer }), ALLOWED);
    return <div class="block" dangerouslySetInnerHTML={{ __html: html }} />;
  },
  (before, now) => before.raw === now.raw && before.colours === now.colours && before.token.type === now.token.type,
);

const hasLanguage = (token: Token): boolean => (token.type === 'code' ? !!token.lang : token.type === 'list' || token.type === 'blockquote' ? token.raw.includes('```') : false);

/** Loads the colours when there is code to be coloured; true when they are there. */
function useHighlighter(isNeeded: boolean): boolean {
  const [, draw] = useState({});
  useEffect(() => {
    if (!isNeeded || highlighter) return;
    let isCurrent = true;
    loading ??= import('./highlight').then((module) => void (highlighter = module), () => void (loading = undefined));
    void loading.then(() => isCurrent && draw({}));
    return () => void (isCurrent = false);
  }, [isNeeded]);
  return highlighter !== undefined;
}
