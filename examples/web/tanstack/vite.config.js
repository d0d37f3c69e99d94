export { default } from '../shared/vite.js';
