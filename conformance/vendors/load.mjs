// Imports a package that is installed here, for whoever lives elsewhere: every vendor's package is pinned and
// installed once.

export function load(name) {
  return import(name);
}
