import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {biasOf, replicatesToSee} from '../evidence/bias.js'
import {cellOf} from '../evidence/comparisons.js'
import {sweepPlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

const RUN = 'h19-bias'
const FEATURES = [8, 32, 128]

function plans({effort, seed}: PlanRequest) {
  return {
    [RUN]: sweepPlanOf({
      generator: 'gaussian',
      heads: 4,
      headDim: 8,
      length: 64,
      methods: [{method: 'ra'}, {method: 'ra', preset: 'hku'}, {method: 'favor-pos'}],
      projections: ['iid'],
      numFeatures: FEATURES,
      scales: [1],
      replicates: effort === 'quick' ? 400 : 4000,
      seed,
    }),
  }
}

function judge(runs: ClaimRuns): Judgement {
  const records = runs.sweep(RUN)
  const exact = biasOf(cellOf(records, {method: 'ra', preset: 'exact'}))
  const released = biasOf(cellOf(records, {method: 'ra', preset: 'hku'}))
  const ratios = FEATURES.map(num_features =>
    biasOf(cellOf(records, {method: 'favor-pos', num_features})),
  )
  const needed = replicatesToSee(released.value, exact)
  return {
    quantities: [
      {name: 'bias^2 of randomized attention', ...exact, expected: 0},
      {name: 'bias^2 of its release', ...released},
      ...ratios.map((bias, at) => ({
        name: `bias^2 of positive features, M = ${FEATURES[at]}`,
        ...bias,
      })),
      {name: 'replicates needed to see a bias as large as in the release', value: needed},
    ],
    tests: [
      {hypothesis: 'randomized attention is unbiased', p: exact.p},
      {hypothesis: 'its release is unbiased', p: released.p},
      ...ratios.map(({p}, at) => ({
        hypothesis: `positive features are unbiased, M = ${FEATURES[at]}`,
        p,
      })),
    ],
    decide([biased, released, ...seen]) {
      const first = ratios[0]!.value
      const statement = `bias^2 of RA ${exact.value.toExponential(1)} ± ${exact.error.toExponential(1)}, of positive features ${first.toExponential(1)} at M = ${FEATURES[0]}, ${ratios.at(-1)!.value.toExponential(1)} at M = ${FEATURES.at(-1)}`
      const asReleased = released ? `; as released it is biased` : ''
      const explanation =
        'Randomized attention draws from a mixture with exactly softmax attention as its mean: an output is unbiased from one sample on. The output of random features is a ratio of two unbiased sums, biased by about the variance of the denominator over M. The released code of randomized attention adds noise of another size than the mixture has: its error looks lower, and it is biased. The variance of all of them is far above their bias.'
      if (biased) return {verdict: 'refuted', statement, explanation}
      if (!released || needed > exact.replicates) {
        return {
          verdict: 'inconclusive',
          statement: `${statement}; ${exact.replicates} replicates do not see what it takes ${needed} for`,
          explanation,
        }
      }
      return seen.every(Boolean)
        ? {verdict: 'holds', statement: `${statement}${asReleased}`, explanation}
        : {
            verdict: 'inconclusive',
            statement: `${statement}: too few replicates to see the bias of all ratios`,
            explanation,
          }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H19',
  sentence: 'The ratio of random features is biased, randomized attention is not',
  source: 'Zheng et al. 2022, arXiv:2204.04667, sections 2 and 3',
  paper: 'a proof; no number',
  ours: 'normal queries and keys of 8 entries, 64 tokens, 4 heads; one sample of randomized attention, 8 to 128 positive features, and the release of randomized attention as an example of a small bias',
  statistic:
    "squared bias of whole outputs over its standard error from ten groups of replicates, by Student's t",
  rule: 'refuted if randomized attention is seen to be biased; holds if not, although a bias as large as in its release would have been seen with 90 %, and positive features are at each M, beyond chance',
  plans,
  judge,
} satisfies TestedClaim
