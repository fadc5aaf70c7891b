/** The calls that checks make: an estimator's forms on small shapes, its inputs and its draw fixed by the seed. */

import type {Subject} from '../types.js'
import {type HostInputs, hostInputs, hostNormals, type Sizes, SMALL, shapeName} from './arrays.js'
import type {Call} from './call.js'

/** Bidirectional or causal. */
export interface Form {
  causal: boolean
  name: 'bidirectional' | 'causal'
}

const FORMS: readonly Form[] = [
  {causal: false, name: 'bidirectional'},
  {causal: true, name: 'causal'},
]

export function formsOf({estimator: {supports}}: Pick<Subject, 'estimator'>): Form[] {
  return FORMS.filter(({name}) => supports[name])
}

/** The same, each with a mask as well where masks are supported. */
export function maskedForms(subject: Pick<Subject, 'estimator'>) {
  const masks = subject.estimator.supports.keyMask ? [false, true] : [false]
  return formsOf(subject).flatMap(({causal}) => masks.map(masked => ({causal, masked})))
}

export function square(sizes: Sizes, length = sizes.keyLen): Sizes {
  return {...sizes, queryLen: length, keyLen: length}
}

/** A call of the estimator on sizes that it has a form for, with inputs of the subject's seed. */
export function callOf(subject: Subject, sizes: Sizes = SMALL, rest: Partial<Call> = {}): Call {
  const fitted = subject.estimator.supports.cross ? sizes : square(sizes)
  const inputs = inputsOf(subject, fitted, rest.inputScale)
  return {method: subject.method, sizes: fitted, seed: subject.seed, inputs, ...rest}
}

/** Standard normal queries and keys, times `scale`, and values. */
export function inputsOf({seed}: Subject, sizes: Sizes, scale = 1, name = 'inputs'): HostInputs {
  return hostInputs(sizes, scale, `${name}.${seed}`)
}

export function arrayOf({seed}: Subject, name: string, shape: Parameters<typeof hostNormals>[1]) {
  return hostNormals(`${name}.${seed}`, shape)
}

/** A call as a table names it: form, shape and what is not at its default. */
export function callName({sizes, causal, masked, scale, inputScale, options}: Call): string {
  const words = [
    causal ? 'causal' : 'bidirectional',
    shapeName(sizes),
    masked ? 'masked' : '',
    scale === undefined ? '' : `scale ${scale}`,
    inputScale === undefined ? '' : `norms x ${inputScale}`,
    ...Object.entries(options ?? {}).map(([name, value]) => `${name}=${String(value)}`),
  ]
  return words.filter(word => word !== '').join(' ')
}

/** Place of an element of an output `[B, H, L, Dv]` in words: `row 3 (batch 0, head 1, column 2)`. */
export function placeOf(at: number, {heads, queryLen, valueDim}: Sizes): string {
  const row = Math.floor(at / valueDim)
  const head = Math.floor(row / queryLen)
  const where = `batch ${Math.floor(head / heads)}, head ${head % heads}, column ${at % valueDim}`
  return `row ${row % queryLen} (${where})`
}
