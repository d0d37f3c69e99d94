// Imports a package that is installed here, for modules in other folders.

export function load(name) {
  return import(name);
}
