import DOMPurify from 'dompurify';
import { marked } from 'marked';
import { useMemo } from 'preact/hooks';

marked.use({ gfm: true, breaks: false });

/** What a text may contain: nothing that loads, runs, or looks like a part of this page. */
const ALLOWED = {
  ALLOWED_TAGS: [
    'a', 'blockquote', 'br', 'code', 'del', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'input', 'li', 'ol', 'p', 'pre', 'strong', 'table', 'tbody', 'td', 'th',
    'thead', 'tr', 'ul',
  ],
  ALLOWED_ATTR: ['href', 'title', 'align', 'start', 'type', 'checked', 'disabled', 'target', 'rel', 'tabindex'],
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
  // A task list has boxes that cannot be ticked; other inputs are not Markdown.
  if (node.tagName === 'INPUT' && !(node.getAttribute('type') === 'checkbox' && node.hasAttribute('disabled'))) node.remove();
  // A long line of code scrolls, also with the keyboard.
  if (node.tagName === 'PRE') node.setAttribute('tabindex', '0');
});

const renderer = new marked.Renderer();
// HTML in a text is text: people see what the model wrote.
renderer.html = ({ text }) => escape(text);
// A picture from elsewhere would tell its server that the text was read.
renderer.image = ({ href, text }) => `<a href="${escape(href)}">${escape(text || href)}</a>`;

const escape = (text: string) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

/** Text in Markdown, also while it grows: code that is not closed yet is code. */
export function Markdown({ text, streaming = false }: { text: string; streaming?: boolean }) {
  const html = useMemo(() => purify.sanitize(marked.parse(text, { async: false, renderer }), ALLOWED), [text]);
  return <div class={streaming ? 'markdown growing' : 'markdown'} dangerouslySetInnerHTML={{ __html: html }} />;
}
