// How the recordings of Kortyx write down what JSON cannot express.

/**
 * The notation of a value: an array with holes is `{"$array": {length, items}}`, with `props` where it has properties that are
 * no elements; an element that is undefined counts as a hole.
 */
export function notation(value) {
  if (Array.isArray(value)) return arrayNotation(value);
  if (value === undefined) return { $undefined: true };
  if (typeof value === 'function') return { $function: value.name };
  if (value === null || typeof value !== 'object') return value;
  return fields(Object.entries(value));
}

function arrayNotation(array) {
  // Both lists follow the properties that exist: a hole costs nothing, however long the array is.
  const defined = Object.entries(array).filter(([, value]) => value !== undefined);
  const items = defined.filter(([key]) => isIndex(key));
  const props = defined.filter(([key]) => !isIndex(key));
  if (items.length === array.length && props.length === 0) return array.map(notation);
  return {
    $array: { length: array.length, items: fields(items), ...(props.length > 0 ? { props: fields(props) } : {}) },
  };
}

/** `fromEntries` defines each key, `__proto__` included, where an assignment would replace the prototype. */
function fields(entries) {
  return Object.fromEntries(entries.map(([key, value]) => [key, notation(value)]));
}

/** Beyond 2^32 - 2 JavaScript has properties, not elements. */
function isIndex(key) {
  return /^(0|[1-9]\d*)$/.test(key) && Number(key) < 2 ** 32 - 1;
}
