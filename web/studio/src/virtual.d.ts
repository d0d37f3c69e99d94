declare module 'virtual:guides' {
  /** One per UI library: the code has `${server}` and `${agent}` in it. */
  const guides: readonly { name: string; title: string; about: string; code: string }[];
  export default guides;
}
declare module '*.css';
