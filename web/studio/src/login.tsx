import { useEffect, useRef, useState } from 'preact/hooks';
import { hasKey, setKey } from './api';
import { Mark } from './icon';

export function Login({ onKey }: { onKey: () => void }) {
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  return (
    <div class="login">
      <form
        class="card"
        aria-label="Log in"
        onSubmit={(event) => {
          event.preventDefault();
          setKey(text);
          onKey();
        }}
      >
        <h1><Mark />Headwater</h1>
        <label for="key">This server asks for an API key.</label>
        <input ref={input} id="key" type="password" autocomplete="off" placeholder="API key" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        {hasKey() && <p class="bad" role="alert">The server does not know this key.</p>}
        <button type="submit" class="first" disabled={!text.trim()}>Log in</button>
        <p class="soft">It is kept for this tab, until the tab is closed.</p>
      </form>
    </div>
  );
}
