// Text in Markdown, as models write it. Raw HTML in a text is not rendered.

import ReactMarkdown from 'react-markdown';
import remarkGfm from 'remark-gfm';

const PLUGINS = [remarkGfm];

export function Text({ children }) {
  return (
    <div className="text">
      <ReactMarkdown remarkPlugins={PLUGINS}>{children}</ReactMarkdown>
    </div>
  );
}
