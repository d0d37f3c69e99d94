import { render } from 'preact';
import { App } from './app';
import { applyTheme, storedTheme } from './rail';
import './style.css';

applyTheme(storedTheme());
render(<App />, document.getElementById('app') as HTMLElement);
