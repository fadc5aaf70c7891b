import {describe, expect, it} from 'vitest'
import {randomStream} from '../../../../src/random/index.js'
import {ratioMoments} from '../../../../src/theory/attention-ratio.js'
import {predictError, queryErrors} from '../../../../src/theory/ratio-error/predict.js'
import {exactOutputs, sampledQueries} from '../../../../src/theory/ratio-error/queries.js'
import type {RatioSamples} from '../../../../src/theory/ratio-error/samples.js'
import type {PositiveHead} from '../../../../src/theory/ratio-error/types.js'
import {assertNear, moments} from '../../../helpers/statistics.js'

/** What the sum over steps of ln u may be off by: stated there. */
const QUADRATURE = 0.022

/** Rows of finitely many kinds, each with its probability, weight and word; both halves know the distribution exactly. */
interface Kind {
  probability: number
  rho: number
  says: number
}

function known(kinds: readonly Kind[], exact: number): RatioSamples {
  const both = [...kinds, ...kinds]
  return {
    queries: {places: Int32Array.of(0), ends: Int32Array.of(2), viewOf: Int32Array.of(0)},
    exact: Float64Array.of(exact),
    count: both.length,
    logShare: Float64Array.from(both, ({probability}) => Math.log(probability)),
    logRho: Float64Array.from(both, ({rho}) => Math.log(rho)),
    says: Float64Array.from(both, ({says}) => says),
  }
}

/** Mean over all M-tuples of kinds of the squared error of their ratio. */
function enumerated(kinds: readonly Kind[], exact: number, M: number): number {
  let mean = 0
  const visit = (left: number, probability: number, weight: number, sum: number) => {
    if (left === 0) {
      mean += probability * (sum / weight - exact) ** 2
      return
    }
    for (const kind of kinds) {
      visit(left - 1, probability * kind.probability, weight + kind.rho, sum + kind.rho * kind.says)
    }
  }
  visit(M, 1, 0, 0)
  return mean
}

/** Three kinds with mean weight 1; `exact` is the mean of what they say by weight. */
function threeKinds(rare: number, says: readonly [number, number, number]) {
  const [p, q] = [0.05, 0.35]
  const middle = 1.2
  const rest = (1 - p * rare - q * middle) / (1 - p - q)
  const kinds = [
    {probability: p, rho: rare, says: says[0]},
    {probability: q, rho: middle, says: says[1]},
    {probability: 1 - p - q, rho: rest, says: says[2]},
  ]
  const exact = kinds.reduce((sum, kind) => sum + kind.probability * kind.rho * kind.says, 0)
  return {kinds, exact}
}

describe('the error of a ratio of sums over independent rows', () => {
  it.each([
    ['light weights', 1.5],
    ['one rare row with half of the weight', 10],
    ['a rest of little weight', 11.5],
  ])('is that of all tuples of rows: %s', (_, rare) => {
    const {kinds, exact} = threeKinds(rare, [2, -1, 0.5])
    const counts = [1, 2, 3, 5, 9]
    const got = queryErrors(known(kinds, exact), 0, counts)
    counts.forEach((M, k) => {
      const expected = enumerated(kinds, exact, M)
      expect(Math.abs(got[k]! / expected - 1)).toBeLessThan(QUADRATURE)
    })
  })

  it('is the variance of the delta method for large M', () => {
    const {kinds, exact} = threeKinds(10, [2, -1, 0.5])
    const M = 2 ** 20
    const delta = kinds.reduce(
      (sum, {probability, rho, says}) => sum + (probability * rho ** 2 * (says - exact) ** 2) / M,
      0,
    )
    const [got] = queryErrors(known(kinds, exact), 0, [M])
    // terms of order 1/M beside it are below the rest of the bound
    expect(Math.abs(got! / delta - 1)).toBeLessThan(QUADRATURE)
  })

  it('stays finite where weights leave the range of doubles', () => {
    const samples = known(threeKinds(10, [2, -1, 0.5]).kinds, 2)
    samples.logRho.set([2000, -900, -3000], 0)
    samples.logRho.set([2000, -900, -3000], 3)
    samples.logShare.set([-2000, -0.5, -1], 0)
    samples.logShare.set([-2000, -0.5, -1], 3)
    const errors = queryErrors(samples, 0, [8, 4096, 2 ** 24])
    expect(errors.every(Number.isFinite)).toBe(true)
    // the row with all the weight is never drawn, and the first of the others always
    expect(Math.abs(errors[1]! / (-1 - 2) ** 2 - 1)).toBeLessThan(QUADRATURE)
  })
})

/** One head whose queries are all the same, so that every one of them is the mean over queries. */
function oneQuery(
  x: readonly number[],
  keys: readonly (readonly number[])[],
  values: readonly number[],
  more: Partial<PositiveHead> = {},
): PositiveHead {
  return {
    query: Float64Array.from(Array.from({length: QUERIES}, () => x).flat()),
    key: Float64Array.from(keys.flat()),
    value: Float64Array.from(values),
    headDim: x.length,
    valueDim: 1,
    causal: false,
    ...more,
  }
}

const QUERIES = 24
const SEEDS = 12

/** Predictions of independent draws. */
function predictions(head: PositiveHead, counts: readonly number[], queries = QUERIES) {
  const drawn = Array.from({length: SEEDS}, (_, seed) =>
    predictError(head, counts, {queries, seed}),
  )
  return counts.map((_, k) => moments(drawn.map(errors => errors[k]!)))
}

/** Mean of g(w) over w ~ N(0, 1), by sums of steps of 1/16: exact to rounding for what is smooth. */
function normalMean(g: (w: number) => number): number {
  let sum = 0
  for (let i = -160; i <= 160; i++) sum += Math.exp(-((i / 16) ** 2) / 2) * g(i / 16)
  return sum / 16 / Math.sqrt(2 * Math.PI)
}

/** In one dimension: weight times constant, and word, of a row w. */
function rowOf(x: number, keys: readonly number[], values: readonly number[], w: number) {
  const phi = keys.map(y => Math.exp(w * y - (y * y) / 2))
  const sum = phi.reduce((total, p) => total + p, 0)
  const says = phi.reduce((total, p, m) => total + p * values[m]!, 0) / sum
  return {weight: Math.exp(w * x - (x * x) / 2) * sum, says}
}

describe('predicted errors of a head', () => {
  const [x, keys, values] = [0.7, [1.1, -0.6], [1, -1]]
  const logits = keys.map(y => Math.exp(x * y))
  const exact = (logits[0]! - logits[1]!) / (logits[0]! + logits[1]!)
  const head = oneQuery(
    [x],
    keys.map(y => [y]),
    values,
  )

  it('are zero where all keys are the same: every row says the mean of their values', () => {
    const same = oneQuery(
      [0.3, -2],
      [
        [1, 4],
        [1, 4],
        [1, 4],
      ],
      [3, -1, 7],
    )
    // three weights, each rounded a few times, of numbers up to 7
    for (const value of exactOutputs(same, sampledQueries(same, 5)))
      expect(Math.abs(value - 3)).toBeLessThan(3 * 7 * 8 * 2 ** -52)
    const errors = predictError(same, [1, 64, 4096], {queries: 5})
    // words are rounded sums of 30 rows, of numbers up to 7
    for (const error of errors) expect(error).toBeLessThan((60 * 7 * 2 ** -52) ** 2)
  })

  it('are zero with a single key, at any norm', () => {
    const single = oneQuery([30, -20], [[25, 40]], [3])
    const errors = predictError(single, [8, 2 ** 24], {queries: 4})
    for (const error of errors) expect(error).toBeLessThan((60 * 3 * 2 ** -52) ** 2)
  })

  it('with one row are those of what a row says: an integral over N(0, 1)', () => {
    const [got] = predictions(head, [1])
    const expected = normalMean(w => (rowOf(x, keys, values, w).says - exact) ** 2)
    assertNear('M = 1', got!.mean, expected, got!.standardError, QUADRATURE * expected)
  })

  it('with two rows are those of their ratio: a double integral', () => {
    const [got] = predictions(head, [2])
    const expected = normalMean(v =>
      normalMean(w => {
        const [a, b] = [rowOf(x, keys, values, v), rowOf(x, keys, values, w)]
        const ratio = (a.weight * a.says + b.weight * b.says) / (a.weight + b.weight)
        return (ratio - exact) ** 2
      }),
    )
    assertNear('M = 2', got!.mean, expected, got!.standardError, QUADRATURE * expected)
  })

  it('with a pair of hyperbolic features are those of w and -w together', () => {
    const [got] = predictions({...head, paired: true}, [1])
    const expected = normalMean(w => {
      const [a, b] = [rowOf(x, keys, values, w), rowOf(x, keys, values, -w)]
      return ((a.weight * a.says + b.weight * b.says) / (a.weight + b.weight) - exact) ** 2
    })
    assertNear('pair', got!.mean, expected, got!.standardError, QUADRATURE * expected)
  })

  it('with an exponent are those of one row w with features exp(a w^2 + b w x)', () => {
    const a = -0.4
    const [got] = predictions({...head, exponents: Float64Array.of(a)}, [1])
    const b = Math.sqrt(1 - 4 * a)
    const expected = normalMean(w => (rowOf(x, keys, values, b * w).says - exact) ** 2)
    assertNear('exponent', got!.mean, expected, got!.standardError, QUADRATURE * expected)
  })

  it('for many rows are the variance of the delta method, in closed form', () => {
    const M = 2 ** 24
    const [query, key] = [
      [0.7, -0.4],
      [
        [1.1, 0.3],
        [-0.6, 0.5],
        [0.2, -0.9],
      ],
    ]
    const three = oneQuery(query, key, [1, -1, 2])
    const [got] = predictions(three, [M])
    const {variance} = ratioMoments(
      {
        query: Float64Array.from(query),
        keys: key.map(y => Float64Array.from(y)),
        values: [1, -1, 2].map(v => Float64Array.of(v)),
      },
      'positive',
      M,
    )
    assertNear('delta', got!.mean, variance[0]!, got!.standardError, QUADRATURE * variance[0]!)
  })

  it('of causal queries are those of their own keys alone', () => {
    const keyOf = (at: number) => [Math.sin(3 * at), Math.cos(5 * at)]
    const tokens = Array.from({length: 6}, (_, at) => keyOf(at))
    const causal: PositiveHead = {
      query: Float64Array.from(tokens.flat()),
      key: Float64Array.from(tokens.flat()),
      value: Float64Array.from(tokens, (_, at) => at),
      headDim: 2,
      valueDim: 1,
      causal: true,
    }
    // the first query sees one key, and the rest of its row none
    const errors = predictError({...causal, query: causal.query.slice(0, 2)}, [1, 64], {
      queries: 1,
    })
    expect(Array.from(errors)).toEqual([0, 0])
    const later = {...causal, key: causal.key.slice(), value: causal.value.slice()}
    later.key.set([9, 9], 10)
    const of = (head: PositiveHead, queries: number) =>
      predictError({...head, query: head.query.slice(0, 10)}, [64], {queries})[0]
    expect(of(later, 5)).toBe(of(causal, 5))
    expect(of({...later, causal: false}, 5)).not.toBe(of({...causal, causal: false}, 5))
  })

  it('are those of draws at norms where nearly all weight lies in rows that are never drawn', () => {
    const [x, keys, values] = [
      [40, 0],
      [
        [40, 0],
        [0, 41],
      ],
      [1, -1],
    ]
    const [M, draws] = [8, 2000]
    const stream = randomStream(0, 'predicted-errors')
    const squares = Array.from({length: draws}, () => {
      const rows = Array.from({length: M}, () => [stream.normal(), stream.normal()] as const)
      // in the log domain: the row with the largest 40 w_1 + max(w.y - |y|^2/2) has all the weight but e^-20 or so
      const heard = rows.map(([u, v]) => {
        const logits = [40 * u - 800, 41 * v - 840.5] as const
        return {log: 40 * u + Math.max(...logits), says: logits[0] > logits[1] ? 1 : -1}
      })
      const {says} = heard.reduce((a, b) => (b.log > a.log ? b : a))
      return (says - 1) ** 2
    })
    const [got, drawn] = [predictions(oneQuery(x, keys, values), [M], 8)[0]!, moments(squares)]
    const error = Math.hypot(got.standardError, drawn.standardError)
    assertNear('far apart', got.mean, drawn.mean, error, QUADRATURE * drawn.mean)
  })
})
