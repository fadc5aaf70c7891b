import type {HostArrays} from '../../helpers/arrays.js'
import {type CaseArrays, type GoldenCase, numberField} from '../cases.js'
import {checkAttention, type Request} from '../check.js'
import type {Family} from './family.js'

/** The peer's number of samples, as the centre of a draw. */
const PROPOSALS: Readonly<Record<string, string>> = {'0': 'mean-key', '-1': 'softmax-mean'}

/** Randomized attention. The peer tells which keys it drew: `k_index`. */
export const randomizedFamily: Family = {
  name: 'randomized attention',
  methods: ['randomized attention (RA)'],
  request: requestOf,
  check(golden, arrays) {
    checkAttention(golden, arrays, requestOf(golden, arrays))
  },
}

function requestOf(golden: GoldenCase, arrays: CaseArrays): Request {
  const proposal = PROPOSALS[String(numberField(golden, 'num_samples'))] ?? 'categorical'
  const sampled = arrays.has('noise')
  return {
    method: 'ra',
    preset: 'hku',
    options: {proposal, sampled},
    noise: {
      ...(sampled && {noise: {shape: arrays.shape('noise'), data: arrays.numbers('noise')}}),
      ...(proposal === 'categorical' && {uniform: uniformOf(golden, arrays)}),
    },
  }
}

/** The uniforms that inversion turns into the keys drawn: the middle of each one's interval. */
function uniformOf(golden: GoldenCase, arrays: CaseArrays): HostArrays[string] {
  const query = arrays.host('q')
  const key = arrays.host('k')
  const [batch, heads, queryLen, headDim] = query.shape
  const keyLen = key.shape[2]
  const index = arrays.numbers('k_index')
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
