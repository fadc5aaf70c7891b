import {beforeAll, describe, expect, it} from 'vitest'
import {causalFeatureAttention} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {compute, hostNormals, maskTensor, scatteredMask, toTensor} from '../helpers/arrays.js'
import {casesOn, runnableBackends} from '../helpers/backends.js'
import {assertWithin, bounded, ELEMENTARY, gamma, maxAbs, U} from '../helpers/rounding.js'
import {logWeightRows} from '../helpers/twins/softmax.js'
import type {Head} from '../helpers/twins/types.js'

const backends = await runnableBackends()

const BATCH = 2
const HEADS = 3
const F = 11
const DV = 5

interface Case {
  queryLen: number
  keyLen: number
  /** Standard deviation of log-features: 30 spans hundreds of nats within a chunk. */
  spread: number
  masked?: boolean
}

const CASES: readonly Case[] = [
  {queryLen: 1, keyLen: 1, spread: 1},
  {queryLen: 63, keyLen: 63, spread: 30},
  {queryLen: 64, keyLen: 64, spread: 1},
  {queryLen: 65, keyLen: 65, spread: 30},
  {queryLen: 127, keyLen: 129, spread: 3},
  {queryLen: 193, keyLen: 67, spread: 30},
  {queryLen: 131, keyLen: 131, spread: 30, masked: true},
]

function inputsOf({queryLen, keyLen, spread, masked}: Case) {
  return {
    query: hostNormals('log-query', [BATCH, HEADS, queryLen, F], spread),
    key: hostNormals('log-key', [BATCH, HEADS, keyLen, F], spread),
    value: hostNormals('value', [BATCH, HEADS, keyLen, DV]),
    mask: masked ? scatteredMask({batch: BATCH, keyLen}) : undefined,
  }
}
type Inputs = ReturnType<typeof inputsOf>

function run({query, key, value, mask}: Inputs): Float32Array {
  return compute(() =>
    causalFeatureAttention(
      toTensor(query),
      toTensor(key),
      toTensor(value),
      mask && maskTensor(mask, BATCH),
    ),
  )
}

/**
 * The definition in double precision. Log-features are exact; every rescaling (8 inside a chunk, one
 * per chunk) rounds differences of at most R, the two largest magnitudes together.
 */
function naive({query, key, value, mask}: Inputs, {queryLen, keyLen}: Case) {
  const out = bounded(BATCH * HEADS * queryLen * DV)
  const magnitude = maxAbs(query.data) + maxAbs(key.data)
  const rescalings = 8 + Math.ceil(queryLen / 64)
  for (let index = 0; index < BATCH * HEADS; index++) {
    const head = {
      index,
      queryLen,
      valueDim: DV,
      value: Float64Array.from(value.data.subarray(index * keyLen * DV, (index + 1) * keyLen * DV)),
    } as Head
    const present = (j: number) => mask?.[Math.floor(index / HEADS) * keyLen + j] !== 0
    const rows = (i: number) => {
      const columns = Array.from({length: Math.min(i + 1, keyLen)}, (_, j) => j).filter(present)
      const weights = columns.map(j => logWeight(index * queryLen + i, index * keyLen + j))
      return {columns, weights}
    }
    const relative = (largest: number) =>
      U * 2 * (rescalings + 2) * (largest + Math.log(keyLen)) +
      gamma(F + keyLen + rescalings * (ELEMENTARY + 3))
    logWeightRows(head, rows, relative, out)
  }
  return out

  function logWeight(i: number, j: number) {
    const a = Float64Array.from(query.data.subarray(i * F, (i + 1) * F))
    const b = key.data.subarray(j * F, (j + 1) * F)
    const top = Math.max(...a.map((x, s) => x + b[s]!))
    const sum = a.reduce((total, x, s) => total + Math.exp(x + b[s]! - top), 0)
    return {value: top + Math.log(sum), magnitude}
  }
}

describe.each(backends)('causalFeatureAttention on %s', backend => {
  beforeAll(() => useBackend(backend))

  it.each(
    casesOn(backend, CASES).map(
      given => [given.queryLen, given.keyLen, given.spread, given] as const,
    ),
  )(
    'L%i-S%i with log-features of spread %i is within rounding of its definition',
    (_queryLen, _keyLen, _spread, given) => {
      const inputs = inputsOf(given)
      const {value, error} = naive(inputs, given)
      assertWithin('causalFeatureAttention', run(inputs), value, error)
    },
  )

  it('rows before huge last keys are bit-identical to rows without them', () => {
    const given: Case = {queryLen: 131, keyLen: 131, spread: 5}
    const before = run(inputsOf(given))
    const changed = inputsOf(given)
    for (let head = 0; head < BATCH * HEADS; head++) {
      changed.key.data.fill(1e4, (head * 131 + 100) * F, (head + 1) * 131 * F)
    }
    const after = run(changed)
    const prefix = (values: Float32Array) =>
      values.filter((_, at) => Math.floor(at / DV) % 131 < 100)
    expect(prefix(after)).toEqual(prefix(before))
    expect(after.every(Number.isFinite)).toBe(true)
  })

  it('gives zero for rows that see no key', () => {
    const given: Case = {queryLen: 67, keyLen: 67, spread: 1}
    const inputs = inputsOf(given)
    const mask = new Float32Array(BATCH * 67).map((_, at) => (at % 67 < 3 ? 0 : 1))
    const out = run({...inputs, mask})
    out.forEach((x, at) => {
      expect(x === 0).toBe(Math.floor(at / DV) % 67 < 3)
    })
  })
})
