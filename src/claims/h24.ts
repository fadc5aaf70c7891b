import {logSecondMoment, optimalExponent} from '../theory/exponential.js'
import type {Judgement, TestedClaim} from './claim.js'

const DIM = 64
const SUMS = [1, 4, 16, 36, 64, 100]

/** Logarithm of the relative variance of one optimal feature at |x + y|^2 = s. */
function optimal(s: number): number {
  return Math.log(Math.expm1(logSecondMoment(optimalExponent(s / DIM), DIM, s)))
}

/** Logarithm of the variance of positive features over that. */
function gain(s: number): number {
  return Math.log(Math.expm1(s)) - optimal(s)
}

function judge(): Judgement {
  const gains = SUMS.map(gain)
  const most = Math.max(...gains)
  return {
    quantities: SUMS.map((s, at) => ({
      name: `ln of the ratio of variances, |x + y|^2 = ${s}`,
      value: gains[at]!,
      ...(s === SUMS.at(-1) && {expected: 60}),
    })),
    tests: [],
    decide() {
      const at = (s: number) => gains[SUMS.indexOf(s)]!.toFixed(1)
      return {
        verdict: most >= 60 && Math.min(...gains) >= 0 ? 'holds' : 'refuted',
        statement: `ratio by |x + y|^2 for D = ${DIM}: e^${at(4)} at 4, e^${at(16)} at 16, e^${at(64)} at 64, e^${at(100)} at 100`,
        explanation: `Positive features have a second moment of exp(2 |x + y|^2), carried by rare long vectors; the factor exp(A |w|^2) with A below zero cuts them off, at the price of the spread of |w|. The gain is real and exact for the kernel of one pair. It is large only where positive features are hopeless anyway: at |x + y|^2 = 100 even the better ones have a relative variance of e^${optimal(100).toFixed(0)} for one vector.`,
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H24',
  sentence: 'Optimal positive features (OPRF) vary up to e^60 times less than positive ones',
  source: 'Likhosherstov et al. 2022, arXiv:2205.15317',
  paper: 'up to e^60, D = 64, norms as in transformers (quoted from summaries)',
  ours: 'closed forms at D = 64 for |x + y|^2 from 1 to 100, the exponent set for that very value',
  statistic: 'logarithm of the ratio of variances of the kernel estimate',
  rule: 'holds if the ratio is never below 1 and reaches e^60 within these norms; there is no chance in it',
  plans: () => ({}),
  judge,
} satisfies TestedClaim
