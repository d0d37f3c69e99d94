// Imports a package that is installed here, for modules in other folders: every vendor's package is pinned
// and installed once.

export function load(name) {
  return import(name);
}
