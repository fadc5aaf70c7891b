/**
 * Coverage of the median's interval of `rfa error-sweep --until-ci`, which looks at it after each half as many replicates
 * again and stops where it is narrow enough: by looking often one also stops where it is narrow by chance.
 */
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import type {ErrorMetrics} from '../../src/experiments/error-sweep/measure/metrics.js'
import {nextCount} from '../../src/experiments/error-sweep/measure/replicates.js'
import {packageRoot} from '../../src/package.js'
import {randomStream} from '../../src/random/index.js'
import {bonferroniZ, summarise} from '../../src/stats/index.js'
import {SLOW} from '../helpers/effort.js'

const DOCUMENTED_RUNS = 2000
const RUNS = SLOW ? DOCUMENTED_RUNS : 300
const [LEAST, MOST] = [10, 2000]
/** Spreads of the logarithm of the error between draws. */
const SPREADS = [0.1, 0.3, 1]
const WIDTHS = [0.2, 0.1, 0.05]
const CASES = SPREADS.flatMap(spread => WIDTHS.map(width => ({spread, width})))
const Z = bonferroniZ(2 * CASES.length, 1e-4)

/** Errors of one cell, whose median is 1, until its interval is narrow enough. */
function errorsUntil(width: number, spread: number, seed: number) {
  const stream = randomStream(seed, `until ${width} ${spread}`)
  const cell = {
    replicates: LEAST,
    until_ci: {metric: 'rel_l2', relative_half_width: width, max_replicates: MOST},
  } as const
  const replicates: {all: ErrorMetrics}[] = []
  for (;;) {
    const count = nextCount(cell, replicates)
    if (count === undefined) return replicates.map(({all}) => all.rel_l2)
    while (replicates.length < count) {
      const rel_l2 = Math.exp(spread * stream.normal())
      replicates.push({all: {rel_l2} as ErrorMetrics})
    }
  }
}

/** Misses in per cent of 2000 runs, as docs/statistics.md has them. */
function documented({width, spread}: (typeof CASES)[number]): number {
  const text = readFileSync(join(packageRoot(), 'docs', 'statistics.md'), 'utf8')
  const line = text.split('\n').find(row => row.startsWith(`| ${spread} | ${width} | `)) ?? ''
  return Number(line.split('|').at(-2))
}

describe('intervals of sweeps that stop when those are narrow enough', () => {
  it.each(CASES)('spread $spread, half width $width: miss as often as documented', given => {
    const {width, spread} = given
    const counts: number[] = []
    let misses = 0
    for (let seed = 0; seed < RUNS; seed++) {
      const errors = errorsUntil(width, spread, seed)
      const {median, low, high} = summarise(errors)
      if (errors.length < MOST) expect((high! - low!) / 2).toBeLessThanOrEqual(width * median!)
      if (low! > 1 || high! < 1) misses++
      counts.push(errors.length)
    }
    const typical = counts.sort((a, b) => a - b)[RUNS >> 1]
    const shown = ((100 * misses) / RUNS).toFixed(1)
    if (SLOW) process.stdout.write(`| ${spread} | ${width} | ${typical} | ${shown} |\n`)
    const rate = documented(given) / 100
    // both this rate and the documented one are counts of chance
    const error = Math.sqrt(rate * (1 - rate) * (1 / RUNS + 1 / DOCUMENTED_RUNS))
    expect(Math.abs(misses / RUNS - rate)).toBeLessThanOrEqual(Z * error)
  })
})
