/** Twins of methods that leave masked tokens out: the call of each text by itself, without those tokens. */
import type {HostArray} from '../../../src/attention/index.js'
import {noiseSpecs} from '../../../src/attention/internal.js'
import {estimatorNamed} from '../../../src/attention/names.js'
import {leavesOut} from '../../../src/attention/present-tokens.js'
import type {HostArrays} from '../arrays.js'
import {emptyOutput, type Twin, type TwinInputs} from './types.js'

/** The same twin; with masked tokens, and for a method that leaves these out, on the tokens that are there. */
export function onPresentTokens(twin: Twin, method: string): Twin {
  const estimator = estimatorNamed(method)
  return inputs => {
    const {keyMask, query, key, causal, options} = inputs
    const [batch, heads, queryLen] = query.shape
    const keyLen = key.shape[2]
    const cross = queryLen !== keyLen
    if (!keyMask || !leavesOut(estimator, options)) return twin(inputs)
    const texts = Array.from({length: batch}, (_, text) =>
      Array.from({length: keyLen}, (_, j) => j).filter(j => keyMask[text * keyLen + j] !== 0),
    )
    // causal queries of another length keep their places where these say what they see
    const seesTheFirst = (keys: readonly number[], row: number) =>
      keys.filter(place => place <= row).length === Math.min(row + 1, keys.length)
    const rows = Array.from({length: queryLen}, (_, row) => row)
    const stays = texts.every(keys => rows.every(row => seesTheFirst(keys, row)))
    if (causal && cross && !stays) return twin(inputs)
    const out = emptyOutput(inputs)
    const width = inputs.value.shape[3]
    for (const [text, keys] of texts.entries()) {
      const queries = cross ? rows : keys
      if (keys.length === 0) continue
      const own = twin(textInputs(inputs, method, {text, queries, keys})).out
      for (let head = 0; head < heads; head++) {
        queries.forEach((place, row) => {
          const from = (head * queries.length + row) * width
          const to = ((text * heads + head) * queryLen + place) * width
          out.value.set(own.value.subarray(from, from + width), to)
          out.error.set(own.error.subarray(from, from + width), to)
        })
      }
    }
    return {out}
  }
}

interface Text {
  text: number
  queries: readonly number[]
  keys: readonly number[]
}

function textInputs(inputs: TwinInputs, method: string, {text, queries, keys}: Text): TwinInputs {
  const {query, key, value, gate, calibration, numFeatures, causal, options} = inputs
  const [, heads, , headDim] = query.shape
  const valueDim = value.shape[3]
  const estimator = estimatorNamed(method)
  const sizes = {batch: 1, heads, queryLen: queries.length, keyLen: keys.length}
  const shape = {...sizes, headDim, valueDim, numFeatures, causal}
  const learned = estimator.parameters?.(shape, options) ?? {}
  return {
    ...inputs,
    query: rowsOf(query, text, queries),
    key: rowsOf(key, text, keys),
    value: rowsOf(value, text, keys),
    gate: gate && rowsOf(gate, text, keys),
    keyMask: undefined,
    calibration: calibration && {
      query: rowsOf(calibration.query, text),
      key: rowsOf(calibration.key, text),
    },
    // rows of a shorter text come first
    noise: mapArrays(noiseSpecs(estimator, shape, options), ({rows, shared}, name) =>
      rowsOf(inputs.noise[name]!, shared ? 0 : text, places(rows)),
    ),
    parameters: Object.fromEntries(
      Object.entries(inputs.parameters).map(([name, array]) => {
        const own = learned[name] ?? array.shape
        const size = own.reduce((product, axis) => product * axis, 1)
        return [name, {shape: own, data: array.data.subarray(0, size)}]
      }),
    ),
  }
}

function mapArrays<T>(
  specs: Record<string, T>,
  arrayOf: (spec: T, name: string) => HostArrays[string],
): HostArrays {
  return Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [name, arrayOf(spec, name)]),
  )
}

function places(count: number): number[] {
  return Array.from({length: count}, (_, i) => i)
}

/** Some tokens of a text, `[B, H, n, ...]` to `[1, H, k, ...]`. Default: all. */
function rowsOf<A extends HostArrays[string] | HostArray>(
  {shape, data}: A,
  text: number,
  tokens: readonly number[] = places(shape[2]!),
): A {
  const [, heads, length, width = 1] = shape as [number, number, number, number?]
  const out = new Float64Array(heads * tokens.length * width)
  for (let head = 0; head < heads; head++) {
    tokens.forEach((token, row) => {
      const from = ((text * heads + head) * length + token) * width
      out.set(data.subarray(from, from + width), (head * tokens.length + row) * width)
    })
  }
  return {shape: shape.with(0, 1).with(2, tokens.length), data: out} as unknown as A
}
