/** What other programs compute of what `src/stats` computes: `fixtures/stats/make.py` writes it. */
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {packageRoot} from '../../src/package.js'

type Sides = Record<'greater' | 'less' | 'two-sided', number>

/** Rows hold arguments, then the value. */
interface Reference {
  tails: Record<'normal' | 'student' | 'student_quantile', number[][]>
  signed_rank: {
    exact: {values: number[]; p: Sides; estimate: [number, number | null, number | null]}[]
    tied: {
      values: number[]
      zeros: 'pratt' | 'wilcox'
      statistic: number
      greater: number
      less: number
    }[]
    normal: {values: number[]; zeros: 'pratt' | 'wilcox'; p: Sides}[]
  }
  student_test: {
    values: number[]
    mean: number
    t: number
    p: Sides
    interval: [number, number]
  }[]
  welch: {
    a: number[]
    b: number[]
    t: number
    degrees: number
    p: Sides
    interval: [number, number]
    superiority: number
  }[]
  holm: {p: number[]; adjusted: number[]}

  weighted_line: {
    x: number[]
    y: number[]
    errors: number[]
    slope: number
    slope_error: number
  }
  /** n, effect, power at 0.05 one-sided. */
  power_of_t: [number, number, number][]
}

export const REFERENCE: Reference = JSON.parse(
  readFileSync(join(packageRoot(), 'fixtures', 'stats', 'reference.json'), 'utf8'),
)

export const SIDES = ['greater', 'less', 'two-sided'] as const

/**
 * Relative error that a tail may have: the exponent `a ln x - x - ln gamma(a)` of 10,000 degrees of freedom has terms of up to
 * 4.3e4, whose rounding to half a unit in the last place adds up to 1.5e-11; that of the argument to less.
 */
export const TAIL_BOUND = 2e-11
