import {describe, expect, it} from 'vitest'
import {randomStream} from '../../../src/random/index.js'
import {bonferroniZ} from '../../../src/stats/index.js'
import {chooseDistinct, chooseWeighted} from '../../../src/tasks/choose.js'

const DRAWS = 20_000

/** How far a share of draws may be from its probability. @param checks - of the test */
function reach(probability: number, checks: number): number {
  return bonferroniZ(checks, 1e-4) * Math.sqrt((probability * (1 - probability)) / DRAWS)
}

describe('choices without repetition', () => {
  it('takes every ordered choice equally often', () => {
    const stream = randomStream(3, 'test')
    const counts = new Map<string, number>()
    for (let draw = 0; draw < DRAWS; draw++) {
      const chosen = chooseDistinct(stream, {low: 5, high: 9, count: 2}).join()
      counts.set(chosen, (counts.get(chosen) ?? 0) + 1)
    }
    expect(counts.size).toBe(12)
    for (const count of counts.values()) {
      expect(Math.abs(count / DRAWS - 1 / 12)).toBeLessThan(reach(1 / 12, 12))
    }
  })

  it('takes all that there are, each once', () => {
    const chosen = chooseDistinct(randomStream(0, 'test'), {low: 1, high: 8, count: 7})
    expect(chosen.sort()).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(chooseWeighted(randomStream(0, 'test'), [3, 1, 2], 3).sort()).toEqual([0, 1, 2])
  })

  it('draws by weight one after the other, as the closed form says', () => {
    const weights = [0.5, 0.3, 0.2]
    const stream = randomStream(4, 'test')
    const counts = new Map<string, number>()
    for (let draw = 0; draw < DRAWS; draw++) {
      const chosen = chooseWeighted(stream, weights, 2).join()
      counts.set(chosen, (counts.get(chosen) ?? 0) + 1)
    }
    weights.forEach((first, i) => {
      weights.forEach((second, j) => {
        const probability = i === j ? 0 : (first * second) / (1 - first)
        const share = (counts.get(`${i},${j}`) ?? 0) / DRAWS
        expect(Math.abs(share - probability)).toBeLessThanOrEqual(reach(probability, 9))
      })
    })
  })
})
