import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {bringHostLoops} from '../../../src/host-loops.js'
import {normals, type RandomStream, randomStream, streamKey} from '../../../src/random/index.js'
import {normalPairs} from '../../../src/random/normal-pairs.js'
import {assertNear, moments} from '../../helpers/statistics.js'

const COUNT = 40_000

function sample(draw: (stream: RandomStream) => number, name: string): Float64Array {
  const stream = randomStream(1, name)
  return Float64Array.from({length: COUNT}, () => draw(stream))
}

describe('a random stream', () => {
  it('depends on seed, name and indices only', () => {
    const first = () => randomStream(5, 'name', 1, 2, 3)
    const expected = normals(first(), 9)
    randomStream(5, 'other').normal()
    expect(normals(first(), 9)).toEqual(expected)
  })

  it('differs for another seed, name or index', () => {
    const draws = [
      randomStream(5, 'name', 1, 2, 3),
      randomStream(6, 'name', 1, 2, 3),
      randomStream(5 + 2 ** 32, 'name', 1, 2, 3),
      randomStream(5, 'eman', 1, 2, 3),
      randomStream(5, 'names', 1, 2, 3),
      randomStream(5, 'name', 2, 1, 3),
      randomStream(5, 'name', 1, 2, 4),
      randomStream(5, 'name', 1, 2),
    ].map(stream => stream.uint32())
    expect(new Set(draws).size).toBe(draws.length)
  })

  it('is the same whatever kinds of draws other streams made in between', () => {
    fc.assert(
      fc.property(
        fc.integer({min: 0, max: Number.MAX_SAFE_INTEGER}),
        fc.array(fc.constantFrom('uint32', 'uniform', 'normal'), {maxLength: 9}),
        (seed, kinds) => {
          const alone = normals(randomStream(seed, 'a'), 5)
          const stream = randomStream(seed, 'a')
          const other = randomStream(seed, 'b')
          const mixed = Float64Array.from({length: 5}, (_, i) => {
            const kind = kinds[i]
            if (kind) other[kind]()
            return stream.normal()
          })
          expect(mixed).toEqual(alone)
        },
      ),
      {numRuns: 50, seed: 2},
    )
  })

  it('fills arrays with the numbers that single draws give, whatever was drawn before', () => {
    const before = fc.array(fc.constantFrom('uint32', 'uniform', 'normal'), {maxLength: 6})
    const lengths = fc.array(fc.nat(9), {maxLength: 4})
    fc.assert(
      fc.property(fc.nat(), before, lengths, (seed, kinds, sizes) => {
        const [filled, single] = [randomStream(seed, 'fill', 1), randomStream(seed, 'fill', 1)]
        for (const kind of kinds) expect(filled[kind]()).toBe(single[kind]())
        for (const size of sizes) {
          const [floats, doubles] = [new Float32Array(size), new Float64Array(size)]
          filled.fillNormals(doubles)
          expect(doubles).toEqual(doubles.map(() => single.normal()))
          filled.fillNormals(floats)
          expect(floats).toEqual(floats.map(() => single.normal()))
        }
        expect(filled.uint32()).toBe(single.uint32())
      }),
      {numRuns: 100, seed: 5},
    )
  })

  it('fills arrays by the loop of the backend in use, from the block that comes next', () => {
    const calls: number[][] = []
    bringHostLoops({
      normals: (stream, out) => {
        calls.push([...stream, out.length])
        return normalPairs(stream, out)
      },
    })
    try {
      const stream = randomStream(5, 'name', 1, 2, 2 ** 32 - 1)
      const alone = randomStream(5, 'name', 1, 2, 2 ** 32 - 1)
      const parts = [3, 4, 1].map(length => [...normals(stream, length)])
      expect(parts.flat()).toEqual(Array.from({length: 8}, () => alone.normal()))
      const key = [...streamKey(5, 'name')]
      expect(calls).toEqual([
        [...key, 0, 1, 2, 2 ** 32 - 1, 3],
        // the spare one of the first, then pairs from block 2 on
        [...key, 2, 1, 2, 2 ** 32 - 1, 3],
        // nothing but a spare one
      ])
    } finally {
      bringHostLoops({})
    }
  })

  it('uniform numbers lie in [0, 1) and have the moments 1/2 and 1/12', () => {
    const values = sample(stream => stream.uniform(), 'uniform')
    const {mean, variance, varianceError} = moments(values)
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...values)).toBeLessThan(1)
    assertNear('mean', mean, 1 / 2, Math.sqrt(1 / 12 / COUNT))
    assertNear('variance', variance, 1 / 12, varianceError)
  })

  it('normal numbers have moments 0, 1, 0, 3 and no correlation with their neighbours', () => {
    const values = sample(stream => stream.normal(), 'normal')
    // variances of x, x^2, x^3, x^4 and of a product of two
    ;[0, 1, 0, 3].forEach((expected, p) => {
      const {mean} = moments(values.map(x => x ** (p + 1)))
      assertNear(`moment ${p + 1}`, mean, expected, Math.sqrt([1, 2, 15, 96][p]! / COUNT))
    })
    for (const lag of [1, 2]) {
      const products = values.subarray(lag).map((x, i) => x * values[i]!)
      assertNear(`lag ${lag}`, moments(products).mean, 0, COUNT ** -0.5)
    }
  })

  it('normal numbers stay within the fractions that the distribution gives', () => {
    const values = sample(stream => stream.normal(), 'fractions')
    for (const [bound, fraction] of [
      [1, 0.682689492137],
      [2, 0.954499736104],
      [3, 0.997300203937],
    ] as const) {
      const inside = values.filter(x => Math.abs(x) < bound).length / COUNT
      const spread = Math.sqrt((fraction * (1 - fraction)) / COUNT)
      assertNear(`|x| < ${bound}`, inside, fraction, spread)
    }
  })

  it.each([1, 2, 3, 7, 10])('integers below %i are equally frequent', bound => {
    const counts = new Float64Array(bound)
    // a value beyond them has no count
    for (const value of sample(stream => stream.integer(bound), `integer${bound}`)) counts[value]!++
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(COUNT)
    const share = 1 / bound
    counts.forEach((count, value) => {
      const spread = Math.sqrt((share * (1 - share)) / COUNT)
      assertNear(`value ${value}`, count / COUNT, share, spread)
    })
  })

  it('integers reject words that would favour small values', () => {
    // 2^32 mod 3 * 2^30 leaves a quarter of all words to reject: their share tells rejection from modulo
    const bound = 3 * 2 ** 30
    const stream = randomStream(3, 'bias')
    const half = Float64Array.from({length: COUNT}, () => (stream.integer(bound) < 2 ** 30 ? 1 : 0))
    assertNear('share of the lowest third', moments(half).mean, 1 / 3, Math.sqrt(2 / 9 / COUNT))
  })
})
