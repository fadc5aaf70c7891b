import {ratioOf} from '../stats/index.js'
import type {Judgement, TestedClaim} from './claim.js'
import {ofMethod, timeOf} from './growth.js'
import {samplersRun} from './plans.js'
import type {ClaimRuns} from './runs.js'
import {above, below} from './tests.js'

/** Factors that count as "about twice". */
const [LEAST, MOST] = [1.4, 2.8]

function judge(runs: ClaimRuns): Judgement {
  const records = runs.timed('samplers')
  const exact = ofMethod(records, 'softmax-online')
  const rows = ofMethod(records, 'ra').map((record, at) => ({
    length: record.cell.seq_len,
    ratio: ratioOf(timeOf(record), timeOf(exact[at]!)),
  }))
  return {
    quantities: rows.map(({length, ratio}) => ({
      name: `time of RA over tiled exact attention, L = ${length}`,
      ...ratio,
      expected: 2,
    })),
    tests: rows.map(({length, ratio}) => ({
      hypothesis: `at L = ${length} it is below ${LEAST} or above ${MOST}`,
      p: Math.max(above(ratio, LEAST), below(ratio, MOST)),
    })),
    decide(rejected) {
      const told = rows.map(({length, ratio}) => `${ratio.value.toFixed(1)}x at ${length}`)
      const statement = `time over that of tiled exact attention: ${told.join(', ')}`
      const explanation =
        'One sample of RA draws a key from each row of the softmax and takes a second softmax about it: 1.5 times the multiplications, twice the exponentials, and the draw. At short lengths the costs of more steps show.'
      if (rejected.every(Boolean)) return {verdict: 'holds', statement, explanation}
      const outside = rows.map(({ratio}) => ratio.low > MOST || ratio.high < LEAST)
      if (outside.every(Boolean)) return {verdict: 'refuted', statement, explanation}
      const split = outside.some(Boolean) && rejected.some(Boolean)
      return {verdict: split ? 'depends' : 'not_measurable', statement, explanation}
    },
  }
}

export default {
  kind: 'tested',
  id: 'H21',
  sentence: 'RA takes almost twice the time of softmax attention',
  source: "Zheng et al. 2022, arXiv:2204.04667, and the authors' summary of it",
  paper: 'about 2x, a sweep over lengths on a GPU',
  ours: 'forward passes of 8 heads of 64 on one thread, one sample, at 196, 784 and 2048 tokens, against tiled exact attention',
  statistic:
    'ratio of median times at each length, with the interval that those of the medians give',
  rule: `holds if every ratio is between ${LEAST} and ${MOST} beyond chance, refuted if every ratio is outside, depends if lengths differ`,
  plans: samplersRun,
  judge,
} satisfies TestedClaim
