import {beforeAll, describe, expect, it} from 'vitest'
import {sampleKeys} from '../../../../src/attention/kernels/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {compute, hostNormals, maskTensor, scatteredMask, toTensor} from '../../../helpers/arrays.js'
import {casesOn, runnableBackends} from '../../../helpers/backends.js'
import {gamma, U} from '../../../helpers/rounding.js'

const backends = await runnableBackends()

interface Case {
  batch: number
  heads: number
  queryLen: number
  keyLen: number
  headDim: number
  draws: number
  causal?: boolean
  masked?: boolean
}

// the last one: more than one tile of queries, more than one block and group of keys
const CASES: readonly Case[] = [
  {batch: 2, heads: 3, queryLen: 13, keyLen: 11, headDim: 5, draws: 1},
  {batch: 2, heads: 3, queryLen: 13, keyLen: 11, headDim: 5, draws: 3, causal: true},
  {batch: 2, heads: 3, queryLen: 11, keyLen: 67, headDim: 5, draws: 2, masked: true},
  {batch: 2, heads: 1, queryLen: 71, keyLen: 67, headDim: 5, draws: 1, causal: true, masked: true},
  {batch: 1, heads: 1, queryLen: 1021, keyLen: 523, headDim: 2, draws: 1},
]

function arraysOf({batch, heads, queryLen, keyLen, headDim, draws, masked}: Case) {
  const uniform = hostNormals('uniform', [batch, heads, queryLen, draws])
  return {
    query: hostNormals('query', [batch, heads, queryLen, headDim]),
    key: hostNormals('key', [batch, heads, keyLen, headDim]),
    // any distribution does: fractional parts
    uniform: {...uniform, data: uniform.data.map(x => Math.fround(Math.abs(x) % 1))},
    mask: masked ? scatteredMask({batch, keyLen}) : undefined,
  }
}

function run(given: Case, {query, key, uniform, mask}: ReturnType<typeof arraysOf>, scale = 1) {
  return compute(() => {
    const keyMask = mask && maskTensor(mask, given.batch)
    const {causal = false} = given
    const drawn = sampleKeys(toTensor(query), toTensor(key), toTensor(uniform), {
      ...{scale, causal, keyMask},
    })
    return [drawn.index, drawn.keys]
  }) as [Float32Array, Float32Array]
}

/** Cumulated softmax of one row over the keys it sees, in double precision, and the largest logit. */
function cumulated(given: Case, arrays: ReturnType<typeof arraysOf>, row: number) {
  const {heads, queryLen, keyLen, headDim, causal} = given
  const head = Math.floor(row / queryLen)
  const batch = Math.floor(head / heads)
  let largest = 0
  const logits = Float64Array.from({length: keyLen}, (_, j) => {
    let dot = 0
    for (let d = 0; d < headDim; d++) {
      dot +=
        arrays.query.data[row * headDim + d]! * arrays.key.data[(head * keyLen + j) * headDim + d]!
    }
    const seen = (!causal || j <= row % queryLen) && arrays.mask?.[batch * keyLen + j] !== 0
    if (seen) largest = Math.max(largest, Math.abs(dot))
    return seen ? dot : -Infinity
  })
  const top = Math.max(...logits)
  const weights = logits.map(logit => Math.exp(logit - top))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let sum = 0
  return {sums: weights.map(weight => (sum += weight / total)), largest}
}

describe.each(backends)('sampleKeys on %s', backend => {
  beforeAll(() => useBackend(backend))

  it.each(casesOn(backend, CASES))('inverts the cumulated softmax: %o', given => {
    const arrays = arraysOf(given)
    const [index, keys] = run(given, arrays)
    const {queryLen, keyLen, headDim, draws} = given
    let ties = 0
    const wrong: string[] = []
    index.forEach((drawn, at) => {
      const row = Math.floor(at / draws)
      const u = arrays.uniform.data[at]!
      const {sums, largest} = cumulated(given, arrays, row)
      // logits off by (D + 8) u each, sums by S u: between the bounds of both sides float32 may choose
      const slack = 2 * U * (headDim + 8) * (1 + largest) + gamma(keyLen + 16)
      const before = drawn === 0 ? 0 : sums[drawn - 1]!
      const after = sums[drawn]!
      if (!(before <= u + slack && after >= u - slack && after > before)) {
        wrong.push(`key ${drawn} for ${u}: from ${before} to ${after}`)
      }
      if (Math.min(Math.abs(before - u), Math.abs(after - u)) <= slack) ties++
      const head = Math.floor(row / queryLen)
      const from = (head * keyLen + drawn) * headDim
      for (let d = 0; d < headDim; d++) {
        if (keys[at * headDim + d] !== arrays.key.data[from + d]) wrong.push(`content of ${drawn}`)
      }
    })
    expect(wrong).toEqual([])
    expect(ties).toBeLessThan(index.length / 4)
  })

  it('takes the first key with weight at 0, the last one at 1', () => {
    const given: Case = {batch: 1, heads: 1, queryLen: 1, keyLen: 7, headDim: 3, draws: 2}
    const arrays = {...arraysOf(given), mask: Float32Array.of(0, 1, 1, 0, 1, 1, 0)}
    arrays.uniform.data.set([0, 1])
    expect(Array.from(run(given, arrays)[0])).toEqual([1, 5])
  })

  it('draws key 0 where there is no key', () => {
    const given: Case = {batch: 1, heads: 2, queryLen: 3, keyLen: 7, headDim: 3, draws: 1}
    const arrays = {...arraysOf(given), mask: new Float32Array(7)}
    expect(run(given, arrays)[0].every(index => index === 0)).toBe(true)
  })

  it('of logits in the thousands draws the winner', () => {
    const given: Case = {batch: 1, heads: 1, queryLen: 17, keyLen: 300, headDim: 3, draws: 1}
    const arrays = arraysOf(given)
    run(given, arrays, 1e4)[0].forEach((drawn, row) => {
      const {sums} = cumulated(given, arrays, row)
      const weights = sums.map((sum, j) => sum - (sums[j - 1] ?? 0))
      expect(drawn).toBe(weights.indexOf(Math.max(...weights)))
    })
  })
})
