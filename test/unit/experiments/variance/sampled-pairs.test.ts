import {describe, expect, it} from 'vitest'
import {samplePairs} from '../../../../src/experiments/variance/sampled-pairs.js'
import type {AttentionInput} from '../../../../src/inputs/attention-input.js'
import {generate} from '../../../../src/inputs/generators/index.js'

const sizes = {batch: 2, heads: 3, queryLen: 7, keyLen: 5, headDim: 4, valueDim: 4}
const made = (changes: Partial<typeof sizes> = {}) =>
  generate('gaussian', {...sizes, ...changes, seed: 3})

/** Row of an array `[B, H, L, D]`. */
function row({query, key}: AttentionInput, what: 'query' | 'key', [b, h, at]: number[]): number[] {
  const {shape, data} = what === 'query' ? query : key
  const start = ((b! * shape[1] + h!) * shape[2] + at!) * shape[3]
  return [...data.subarray(start, start + shape[3])]
}

const dot = (a: number[], b: number[]) => a.reduce((sum, e, d) => sum + e * b[d]!, 0)

describe('samplePairs', () => {
  it('gives norms and angles of canonical queries and keys', () => {
    for (const logitScale of [undefined, 0.3]) {
      const input = {...made(), ...(logitScale !== undefined && {logitScale})}
      const beta = logitScale ?? 0.5 // 1 / sqrt(4)
      for (const pair of samplePairs(input, {count: 12, seed: 1})) {
        const x = row(input, 'query', [pair.batch, pair.head, pair.query_index])
        const y = row(input, 'key', [pair.batch, pair.head, pair.key_index])
        expect(pair.norm ** 2).toMatchReference(beta * dot(x, x), 6)
        expect(pair.key_norm ** 2).toMatchReference(beta * dot(y, y), 6)
        const cosine = Math.cos((pair.angle_deg * Math.PI) / 180)
        expect(pair.norm * pair.key_norm * cosine).toMatchReference(beta * dot(x, y), 6)
      }
    }
  })

  it('takes as many of each head as of the others, from all sequences', () => {
    const pairs = samplePairs(made(), {count: 90, seed: 0})
    const count = (head: number) => pairs.filter(pair => pair.head === head).length
    expect([0, 1, 2].map(count)).toEqual([30, 30, 30])
    expect(new Set(pairs.map(({batch}) => batch)).size).toBe(2)
    expect(samplePairs(made(), {count: 2, seed: 0}).map(({head}) => head)).toEqual([0, 1])
    expect(samplePairs(made(), {count: 90, seed: 0})).toEqual(pairs)
  })

  it('leaves out padding, and keys that a causal query does not see', () => {
    const input = made({queryLen: 5})
    const keyMask = Uint8Array.of(0, 1, 1, 0, 1, 1, 1, 1, 1, 0)
    const pairs = samplePairs({...input, keyMask}, {count: 300, seed: 0, causal: true})
    for (const {batch, query_index: query, key_index: key} of pairs) {
      expect(keyMask[5 * batch + key]).toBe(1)
      expect(keyMask[5 * batch + query]).toBe(1)
      expect(key).toBeLessThanOrEqual(query)
    }
    expect(new Set(pairs.filter(({batch}) => batch === 0).map(({key_index}) => key_index))).toEqual(
      new Set([1, 2, 4]),
    )
  })
})
