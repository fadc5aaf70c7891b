import type {HostArrays} from '../helpers/arrays.js'
import type {CaseArrays, GoldenCase} from './cases.js'

/** The uniforms that inversion turns into the keys drawn: the middle of each one's interval. */
export function uniformOf(
  golden: GoldenCase,
  arrays: CaseArrays,
  drawnKeys: string,
): HostArrays[string] {
  const query = arrays.host('q')
  const key = arrays.host('k')
  const [batch, heads, queryLen, headDim] = query.shape
  const keyLen = key.shape[2]
  const index = arrays.numbers(drawnKeys)
  const mask = arrays.keyMask()
  const data = index.map((drawn, row) => {
    const head = Math.floor(row / queryLen)
    const maskRow = Math.floor(head / heads) * keyLen
    const logits = Float64Array.from({length: keyLen}, (_, j) => {
      const hidden = golden.causal === true && j > row % queryLen
      if (hidden || mask?.[maskRow + j] === 0) return -Infinity
      let dot = 0
      for (let d = 0; d < headDim; d++) {
        dot += query.data[row * headDim + d]! * key.data[(head * keyLen + j) * headDim + d]!
      }
      return dot * headDim ** -0.5
    })
    const top = Math.max(...logits)
    const weights = logits.map(logit => Math.exp(logit - top))
    const sum = (end: number) => weights.subarray(0, end).reduce((a, b) => a + b, 0)
    return (sum(drawn) + weights[drawn]! / 2) / sum(keyLen)
  })
  return {shape: [batch, heads, queryLen, 1], data}
}
