import {readdirSync} from 'node:fs'
import {describe, expect, test} from 'vitest'
import type {AttentionArray} from '../../../../src/inputs/attention-input.js'
import {
  GENERATOR_NAMES,
  GENERATORS,
  type GeneratorShape,
  generate,
} from '../../../../src/inputs/generators/index.js'

const PARTS = ['query', 'key', 'value'] as const

const shape: GeneratorShape = {
  ...{batch: 2, heads: 3, queryLen: 17, keyLen: 23, headDim: 7, valueDim: 5, seed: 11},
}

/** Rows of one head. */
function rowsOf({shape: [, , length, dim], data}: AttentionArray, head: number): Float32Array[] {
  return Array.from({length}, (_, i) =>
    data.subarray((head * length + i) * dim, (head * length + i + 1) * dim),
  )
}

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, d) => sum + x * b[d]!, 0)

/**
 * Checks the mean of independent samples against its expectation: within z standard errors, z =
 * 5.33, which for 1 000 such checks fails with a probability of 1e-4.
 */
function expectMean(samples: readonly number[], expectation: number, what: string): void {
  const n = samples.length
  const mean = samples.reduce((a, b) => a + b, 0) / n
  const variance = samples.reduce((a, s) => a + (s - mean) ** 2, 0) / (n - 1)
  const bound = 5.33 * Math.sqrt(variance / n)
  expect(Math.abs(mean - expectation), `${what}: ${mean}`).toBeLessThanOrEqual(bound)
}

test('every generator file is in the registry', () => {
  const shared = ['fill', 'index', 'token-mixture', 'types']
  const files = readdirSync('src/inputs/generators').map(file => file.replace(/\.ts$/, ''))
  expect(files.filter(file => !shared.includes(file)).sort()).toEqual([...GENERATOR_NAMES].sort())
})

describe.each(GENERATOR_NAMES)('%s', name => {
  const generator = GENERATORS[name]

  test('has its registry name, a title and a description in one line', () => {
    expect(generator.name).toBe(name)
    expect(generator.title).toMatch(/^\S.{1,40}$/)
    expect(generator.description).toMatch(/^\S.{1,100}$/)
  })

  test('B2-H3-L17-S23-D7-Dv5: has these shapes, finite elements, and says how it was made', () => {
    const input = generate(name, shape)
    expect(input.query.shape).toEqual([2, 3, 17, 7])
    expect(input.key.shape).toEqual([2, 3, 23, 7])
    expect(input.value.shape).toEqual([2, 3, 23, 5])
    for (const part of PARTS) {
      const {data, shape: axes} = input[part]
      expect(data.length).toBe(axes.reduce((a, b) => a * b))
      expect(data.every(Number.isFinite)).toBe(true)
    }
    expect(input.label).toBe(name)
    expect(input.metadata).toMatchObject({generator: name, seed: '11'})
  })

  test('more queries than keys, and single tokens, are possible', () => {
    const input = generate(name, {...shape, queryLen: 29, keyLen: 1})
    expect(input.query.data.every(Number.isFinite)).toBe(true)
    expect(input.key.shape[2]).toBe(1)
  })

  test('the same seed gives the same bytes, another seed others', () => {
    const first = generate(name, shape)
    const again = generate(name, shape)
    const other = generate(name, {...shape, seed: 12})
    for (const part of PARTS) {
      expect(again[part].data).toEqual(first[part].data)
      expect(other[part].data.some((x, i) => x === first[part].data[i])).toBe(false)
    }
  })

  test('batches and heads are one sequence of independent draws', () => {
    const twoByThree = generate(name, shape)
    const oneBySix = generate(name, {...shape, batch: 1, heads: 6})
    for (const part of PARTS) {
      expect(oneBySix[part].data).toEqual(twoByThree[part].data)
      const [first, second] = [rowsOf(twoByThree[part], 0)[0]!, rowsOf(twoByThree[part], 1)[0]!]
      expect(first.some((x, d) => x === second[d])).toBe(false)
    }
  })

  const growth = generator.prefixStable ? 'are' : 'are not, the grid being wider,'
  test(`the first 31 tokens of 61 ${growth} those of length 31`, () => {
    const short = generate(name, {...shape, queryLen: 31, keyLen: 31})
    const long = generate(name, {...shape, queryLen: 61, keyLen: 61})
    for (const part of PARTS) {
      for (let head = 0; head < 6; head++) {
        const [start, whole] = [rowsOf(long[part], head).slice(0, 31), rowsOf(short[part], head)]
        if (generator.prefixStable) expect(start).toEqual(whole)
        else expect(start).not.toEqual(whole)
      }
    }
  })

  test('entries of q, k and v have mean 0 and the declared variance', () => {
    // heads are independent, tokens need not be: one sample per head, from its last token
    const heads = 601
    const input = generate(name, {...shape, batch: 1, heads})
    for (const part of PARTS) {
      const last = Array.from({length: heads}, (_, head) => rowsOf(input[part], head).at(-1)!)
      const dim = last[0]!.length
      const first = last.map(row => row[0]!)
      expectMean(first, 0, `${part} mean`)
      const declared = name === 'unit' && part !== 'value' ? 1 / dim : 1
      if (declared === 1) {
        const squares = last.map(row => dot(row, row) / dim)
        expectMean(squares, declared, `${part} variance`)
      }
    }
  })
})

describe('refuses', () => {
  test('an unknown name, and one that every object has', () => {
    for (const name of ['gausian', 'constructor']) {
      expect(() => generate(name, shape)).toThrow(expect.objectContaining({code: 'UNKNOWN_NAME'}))
    }
  })

  test.each([
    ['queryLen', 0, 1],
    ['headDim', 2.5, 1],
    ['heads', -3, 1],
    ['seed', -1, 0],
    ['seed', NaN, 0],
  ])('%s %d', (axis, value, least) => {
    expect(() => generate('gaussian', {...shape, [axis]: value})).toThrow(
      expect.objectContaining({
        code: 'BAD_OPTION',
        message: `generator gaussian, ${axis}: expected an integer of at least ${least}, got ${value}`,
      }),
    )
  })

  test('what does not fit in memory', () => {
    expect(() => generate('gaussian', {...shape, queryLen: 2 ** 45})).toThrow(
      expect.objectContaining({
        code: 'TOO_LARGE',
        suggestions: ['lower `seqLen`, `batch`, `heads` or `headDim`'],
      }),
    )
  })
})

test('unit: rows of q and k have norm 1', () => {
  const {query, key} = generate('unit', shape)
  for (let head = 0; head < 6; head++) {
    for (const row of [...rowsOf(query, head), ...rowsOf(key, head)]) {
      // the norm, its use and the elements are each rounded to float32: 7 squares of relative error
      // 2^-23 and the norm's own 2^-24
      expect(Math.abs(dot(row, row) - 1)).toBeLessThanOrEqual(8 * 2 ** -23)
    }
  }
})

describe.each(['ar1', 'grid2d'] as const)('%s', name => {
  const heads = 401
  const input = generate(name, {...shape, batch: 1, heads, queryLen: 25, keyLen: 25})
  const tokens = Array.from({length: heads}, (_, head) => rowsOf(input.value, head))
  const correlation = (i: number, j: number) =>
    tokens.map(rows => dot(rows[i]!, rows[j]!) / rows[i]!.length)

  test('queries and keys are the tokens of the values with noise, scaled to variance 1', () => {
    for (const part of ['query', 'key'] as const) {
      const products = tokens.map(
        (rows, head) => rowsOf(input[part], head)[13]![2]! * rows[13]![2]!,
      )
      expectMean(products, 1 / Math.sqrt(1.09), `${part} with token`)
    }
    const products = tokens.map(
      (_, head) => rowsOf(input.query, head)[13]![2]! * rowsOf(input.key, head)[13]![2]!,
    )
    expectMean(products, 1 / 1.09, 'query with key')
  })

  test('neighbours correlate as declared', () => {
    if (name === 'ar1') {
      for (const lag of [1, 7, 24]) {
        expectMean(correlation(0, lag), 0.97 ** lag, `lag ${lag}`)
      }
      return
    }
    // weights of the smoothing: their products at a lag, over those at lag 0
    const weights = Array.from({length: 13}, (_, r) => Math.exp(-((r - 6) ** 2) / 8))
    const at = (lag: number) => weights.reduce((sum, w, r) => sum + w * (weights[r + lag] ?? 0), 0)
    const lagged = (lag: number) => at(lag) / at(0)
    expectMean(correlation(6, 7), lagged(1), 'right neighbour') // 5 x 5 cells
    expectMean(correlation(6, 11), lagged(1), 'neighbour below')
    expectMean(correlation(0, 3), lagged(3), 'three to the right, from the corner')
    expectMean(correlation(0, 12), lagged(2) ** 2, 'two right and two down')
    expectMean(correlation(4, 5), lagged(4) * lagged(1), 'end of a row and start of the next')
  })
})

test('clustered: queries and keys form the same 8 groups, keys of a group have like values', () => {
  const wide = {
    ...shape,
    ...{batch: 1, heads: 1, queryLen: 211, keyLen: 199, headDim: 101, valueDim: 103},
  }
  const {query, key, value} = generate('clustered', wide)
  // |a - b|^2 is about 2 * 0.09 * D = 18 within a group and 2 D = 202 between groups, with a
  // standard deviation below 30: half-way separates them by more than three of it, and the seed is
  // fixed
  const near = (a: Float32Array, b: Float32Array) =>
    a.reduce((sum, x, d) => sum + (x - b[d]!) ** 2, 0) < 1.1 * a.length
  const groups: Float32Array[] = []
  for (const row of [...rowsOf(query, 0), ...rowsOf(key, 0)]) {
    if (!groups.some(group => near(group, row))) groups.push(row)
  }
  expect(groups.length).toBe(8)
  const [keys, values] = [rowsOf(key, 0), rowsOf(value, 0)]
  for (let i = 1; i < keys.length; i++) {
    expect(near(values[0]!, values[i]!)).toBe(near(keys[0]!, keys[i]!))
  }
})

test('peaky: every query is aligned with exactly one key in its causal view', () => {
  const wide = {...shape, batch: 1, heads: 1, queryLen: 61, keyLen: 53, headDim: 101}
  const {query, key} = generate('peaky', wide)
  const keys = rowsOf(key, 0)
  for (const [i, row] of rowsOf(query, 0).entries()) {
    // q.k is about D = 101 for the partner and N(0, D), standard deviation 10, for the others
    const aligned = keys.flatMap((k, j) => (dot(row, k) > 50 ? [j] : []))
    expect(aligned.length, `query ${i}`).toBe(1)
    expect(aligned[0]).toBeLessThanOrEqual(i)
  }
})

test('anisotropic: scales differ between dimensions and are opposite on query and key', () => {
  const length = 2003
  const one = {...shape, batch: 1, heads: 1, queryLen: length, keyLen: length}
  const {query, key} = generate('anisotropic', one)
  const secondMoments = (array: AttentionArray) =>
    Array.from({length: 7}, (_, d) => {
      const rows = rowsOf(array, 0)
      return rows.reduce((sum, row) => sum + row[d]! ** 2, 0) / length
    })
  const [ofQuery, ofKey] = [secondMoments(query), secondMoments(key)]
  expect(Math.max(...ofQuery) / Math.min(...ofQuery)).toBeGreaterThan(4)
  // each moment has a relative standard deviation of sqrt(2 / length), a quotient of two products
  // of two of them twice that
  const products = ofQuery.map((q, d) => q * ofKey[d]!)
  const bound = 5.33 * 2 * Math.sqrt(2 / length)
  for (const product of products) {
    expect(Math.abs(product / products[0]! - 1)).toBeLessThanOrEqual(bound)
  }
})
