import DOMPurify from 'dompurify';
import { marked, type Token } from 'marked';
import { memo } from 'preact/compat';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count } from './format';

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
// A picture from elsewhere would reveal to its server that the text was read.
renderer.image = ({ href, text }) => `<a href="${escape(href)}">${escape(text || href)}</a>`;
renderer.code = ({ text, lang }) => `<pre><code>${coloured(text, lang?.match(/^\w+/)?.[0]?.toLowerCase())}\n</code></pre>`;

const coloured = (text: string, language: string | undefined): string =>
  (language && text.length <= MAX_COLOURED ? highlighter?.highlight(text, language) : undefined) ?? escape(text);

const escape = (text: string) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

/** A text of more characters is shown as it is until a person asks for Markdown, which takes about a second for 300,000. */
const LONG_TEXT = 50_000;
/** A plain text is laid out in pieces of about so many characters, as far as they are in view. */
const PIECE = 4_000;

interface Props {
  text: string;
  streaming?: boolean;
}

/** Text in Markdown, also while it grows: code that is not closed yet is code. */
export function Markdown({ text, streaming = false }: Props) {
  // A text that is long when it is opened; not one that became long while a person was reading it.
  const [formatted, setFormatted] = useState(streaming);
  if (formatted || text.length <= LONG_TEXT) return <Formatted text={text} streaming={streaming} />;
  return (
    <>
      <p class="soft">{count(text.length)} characters, shown as plain text. <button type="button" class="link" onClick={() => setFormatted(true)}>Show as Markdown</button></p>
      {piecesOf(text).map((piece, at) => <pre key={at} class="plain">{piece}</pre>)}
    </>
  );
}

/** Pieces that end with a line. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from + PIECE);
    const to = end < 0 ? text.length : end + 1;
    pieces.push(text.slice(from, to));
    from = to;
  }
  return pieces;
}

function Formatted({ text, streaming }: Required<Props>) {
  const held = useRef<{ text: string; tokens: Token[] } | undefined>(undefined);
  const blocks = useMemo(() => {
    const tokens = streaming && held.current ? lexGrown(text, held.current) : marked.lexer(text);
    held.current = { text, tokens };
    return blocksOf(tokens.filter(({ type }) => type !== 'space' && type !== 'def'));
  }, [text, streaming]);
  const colours = useHighlighter(blocks.some(({ hasCode }) => hasCode));
  return (
    <div class={streaming ? 'markdown growing' : 'markdown'}>
      {blocks.map(({ key, raw, tokens, hasCode }) => <Block key={key} raw={raw} tokens={tokens} colours={colours && hasCode} />)}
    </div>
  );
}

/** The last tokens of a text may change when it grows: a list gets another item, a line becomes a heading. */
const UNSETTLED = 4;

/** The tokens of a text that begins with another one, of which those are known. The end of the text is read with all of it. */
function lexGrown(text: string, known: { text: string; tokens: Token[] }): Token[] {
  const settled = known.tokens.slice(0, -UNSETTLED);
  const end = settled.reduce((sum, { raw }) => sum + raw.length, 0);
  const last = settled.at(-1);
  if (!last || !text.startsWith(known.text) || text.slice(end - last.raw.length, end) !== last.raw) return marked.lexer(text);
  return [...settled, ...marked.lexer(text.slice(end))];
}

/** So many paragraphs are drawn as one once they are complete: sanitising costs as much for one as for some dozens. */
const GROUP = 32;

/** What is drawn as one: groups of what is complete, and each of the last few by itself, since they may still grow. */
function blocksOf(tokens: Token[]): { key: string; raw: string; tokens: Token[]; hasCode: boolean }[] {
  const whole = tokens.length - (tokens.length % GROUP);
  const groups: Token[][] = [];
  for (let at = 0; at < whole; at += GROUP) groups.push(tokens.slice(at, at + GROUP));
  for (let at = whole; at < tokens.length; at += 1) groups.push(tokens.slice(at, at + 1));
  return groups.map((group, at) => ({
    key: `${group.length} ${at}`,
    raw: group.map(({ raw, type }) => `${type} ${raw}`).join('\n'),
    tokens: group,
    hasCode: group.some(hasLanguage),
  }));
}

/** Code in the colours of its language, once they are loaded. */
export function Code({ text, language }: { text: string; language: string }) {
  const colours = useHighlighter(true);
  const html = useMemo(() => purify.sanitize(coloured(text, language), ALLOWED), [text, language, colours]);
  return <code dangerouslySetInnerHTML={{ __html: html }} />;
}

/** Paragraphs, lists, blocks of code. Only the last one changes while a text grows, so the others are not drawn again. */
const Block = memo(
  function Block({ tokens }: { tokens: Token[]; raw: string; colours: boolean }) {
    const html = purify.sanitize(marked.parser(tokens, { ...marked.defaults, renderer }), ALLOWED);
    return <div class="block" dangerouslySetInnerHTML={{ __html: html }} />;
  },
  (before, now) => before.raw === now.raw && before.colours === now.colours,
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
