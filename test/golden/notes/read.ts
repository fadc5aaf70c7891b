/** Reads fields and remarks of a manifest in the peers' words. */
import type {CaseArrays, GoldenCase} from '../cases.js'
import type {WrittenRequest} from '../request.js'

/** What is asked by cases of some methods of such a manifest. */
export interface Reading {
  /** Values of the manifest's `method`, exactly. */
  methods: readonly string[]
  request(golden: GoldenCase, arrays: CaseArrays): WrittenRequest
}

/** A numeric field, or `undefined` when it is absent or not a number. */
export function numberField(golden: GoldenCase, name: string): number | undefined {
  const value = golden[name]
  return typeof value === 'number' ? value : undefined
}

export function textField(golden: GoldenCase, name: string): string {
  const value = golden[name]
  return typeof value === 'string' ? value : ''
}

/**
 * The guard that a peer's note on its denominator describes.
 *
 * @throws Error for a note in words this does not know
 */
export function guardOfNote(note: string): string {
  if (/\bno clamp\b/.test(note)) return 'none'
  const clamp = /(abs\(\)\.)?clamp(?:_min)?\((?:min=|EPS=)?(\d[\d.e+-]*)\)/i.exec(note)
  if (clamp) return `${clamp[1] ? 'abs-clamp' : 'clamp'}:${Number(clamp[2])}`
  const added = /\+\s*(\d[\d.]*(?:e[+-]?\d+)?)/i.exec(note)
  if (added) return `add:${Number(added[1])}`
  throw new Error(`no guard can be read from the note "${note}"`)
}

/** `{name: guard}` of the note on the denominator, nothing where there is no note. */
export function guardField(golden: GoldenCase, ...names: string[]): Record<string, string> {
  const note = textField(golden, 'denom_note')
  if (note === '') return {}
  return Object.fromEntries(names.map(name => [name, guardOfNote(note)]))
}

/** `{name: number}` of a field, nothing where it is no number. */
export function numberAs(golden: GoldenCase, field: string, name: string): Record<string, number> {
  const value = numberField(golden, field)
  return value === undefined ? {} : {[name]: value}
}

/** `{denGuard: 'add:EPS'}` of the field `eps`. */
export function addedEpsilon(golden: GoldenCase): Record<string, string> {
  const epsilon = numberField(golden, 'eps')
  return epsilon === undefined ? {} : {denGuard: `add:${epsilon}`}
}

/** The arrays that the case has, under our names. */
export function present(arrays: CaseArrays, names: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(names).filter(([, theirs]) => arrays.has(theirs)))
}
