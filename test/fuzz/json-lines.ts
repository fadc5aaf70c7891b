/** Lines of JSON that were changed in their structure, by fast-check. */
import fc from 'fast-check'

/** One change: of the part that is the `at`-th, modulo their number. */
interface Edit {
  at: number
  /** `alike`: a text by another, a number by another. */
  kind: 'alike' | 'replace' | 'delete' | 'add' | 'rename' | 'copy'
  name: string
  number: number
  value: unknown
}

const text = fc.oneof(
  fc.string({unit: 'binary', maxLength: 24}),
  fc.constantFrom('__proto__', 'constructor', '', '\u001b[2J', '../../x', '=1+1', '| a | <b>'),
)
const value = fc.oneof(
  fc.jsonValue({maxDepth: 2}),
  text,
  fc.constantFrom<unknown>(-1, 0, 1e300, 2 ** 53, -0.5, null, [], {}, [[[[]]]], '1', true),
)
const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom(
    'alike',
    'alike',
    'alike',
    'alike',
    'alike',
    'replace',
    'delete',
    'add',
    'rename',
    'copy',
  ),
  name: text,
  number: fc.oneof(
    fc.constantFrom(-1, 0, 1, 2, 3, 1000, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 1e300, 5e-324, 0.5, -0.5),
    fc.double({noNaN: true, noDefaultInfinity: true}),
  ),
  value,
})

/** One or two changes. */
export const edits = fc.array(edit, {minLength: 1, maxLength: 2})

/** A value with these changes. */
export function edited(whole: unknown, changes: readonly Edit[]): unknown {
  const box = {whole: structuredClone(whole)}
  for (const change of changes) apply(box, change)
  return box.whole
}

type Holder = Record<string, unknown>

/** Every part of a value: what holds it, and its name there. */
function partsOf(holder: Holder): [Holder, string][] {
  return Object.entries(holder).flatMap(([name, child]) => [
    [holder, name] as [Holder, string],
    ...(typeof child === 'object' && child !== null ? partsOf(child as Holder) : []),
  ])
}

function apply(box: Holder, {at, kind, name, number, value: replacement}: Edit): void {
  const parts = partsOf(box)
  const [holder, own] = parts[at % parts.length]!
  const child = holder[own]
  const isInside = holder !== box
  if (kind === 'alike') {
    if (typeof child === 'number') holder[own] = number
    if (typeof child === 'string') holder[own] = name
  } else if (kind === 'delete' && isInside) remove(holder, own)
  else if (kind === 'rename' && isInside) {
    remove(holder, own)
    put(holder, name, child)
  } else if (kind === 'copy' && isInside) put(holder, name, structuredClone(child))
  else if (kind === 'add' && typeof child === 'object' && child !== null) {
    put(child as Holder, name, replacement)
  } else holder[own] = replacement
}

function remove(holder: Holder, name: string): void {
  if (Array.isArray(holder)) holder.splice(Number(name), 1)
  else delete holder[name]
}

/** `__proto__` too becomes a name of its own, as it does for a parser of JSON. */
function put(holder: Holder, name: string, value: unknown): void {
  if (Array.isArray(holder)) holder.push(value)
  else
    Object.defineProperty(holder, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    })
}
