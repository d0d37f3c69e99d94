// Imports a package that is installed here, for whoever lives elsewhere.

export function load(name) {
  return import(name);
}
