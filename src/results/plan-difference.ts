/** The first place where two plans differ. */
export interface Difference {
  /** As one writes it in code, e.g. `num_features[1]` or `timing.min_runs`. */
  path: string
  /** Values there, as JSON; `nothing` where one has no such place. */
  left: string
  right: string
}

/**
 * Finds the first place where two pieces of JSON data differ, in the order of the left one's
 * properties.
 *
 * @returns `undefined` when they are equal
 */
export function firstDifference(left: unknown, right: unknown, path = ''): Difference | undefined {
  if (Object.is(left, right)) return undefined
  const names = sharedNames(left, right)
  if (!names) return {path, left: shown(left), right: shown(right)}
  for (const name of names) {
    const place = Array.isArray(left) ? `${path}[${name}]` : path ? `${path}.${name}` : name
    const difference = firstDifference(childOf(left, name), childOf(right, name), place)
    if (difference) return difference
  }
  return undefined
}

/** Names of all children of two objects or two arrays; `undefined` for anything else. */
function sharedNames(left: unknown, right: unknown): Set<string> | undefined {
  if (!isObject(left) || !isObject(right) || Array.isArray(left) !== Array.isArray(right)) {
    return undefined
  }
  return new Set([...Object.keys(left), ...Object.keys(right)])
}

function childOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
