import {verdictOf} from '../../answers/index.js'
import {positiveVariance, softmaxKernel, trigonometricVariance} from '../../theory/kernels.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {ratioRow, worstZ} from '../evidence/ratio-rows.js'
import {variancePlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

const RUN = 'h10-pairs'
/** From right angles on the kernel vanishes as norms grow. */
const ANGLES = [100, 110, 130, 150, 170, 180]
const NORMS = [1, 2, 3, 4]

/** Of M = 1, exact. */
function errorsAt(angle: number, norm: number) {
  const turn = (angle * Math.PI) / 180
  const x = Float64Array.of(norm, 0)
  const y = Float64Array.of(norm * Math.cos(turn), norm * Math.sin(turn))
  return {
    kernel: softmaxKernel(x, y),
    positive: positiveVariance(x, y, 1),
    trigonometric: trigonometricVariance(x, y, 1),
  }
}

function plans({effort, seed}: PlanRequest) {
  return {
    [RUN]: variancePlanOf({
      methods: ['favor-pos', 'favor-trig'],
      projections: ['iid'],
      num_features: [64],
      head_dims: [16],
      norms: NORMS,
      angles_deg: ANGLES.filter(angle => angle < 180), // of opposite vectors, positive features do not vary
      replicates: effort === 'quick' ? 2000 : 20_000,
      seed,
    }),
  }
}

function judge(runs: ClaimRuns): Judgement {
  const worst = worstZ(runs.variance(RUN).map(record => ratioRow(record)))
  const last = NORMS.at(-1)!
  const falls = (angle: number) =>
    errorsAt(angle, last).positive <= errorsAt(angle, NORMS.at(-2)!).positive
  const [falling, rising] = [ANGLES.filter(falls), ANGLES.filter(angle => !falls(angle))]
  const opposite = errorsAt(180, last)
  const example = rising.map(angle => errorsAt(angle, last))
  return {
    quantities: [
      {name: 'kernel at 180 degrees, norm 4', value: opposite.kernel},
      {name: 'mean squared error of sin/cos there, M = 1', value: opposite.trigonometric},
      {name: 'of positive features there, M = 1', value: opposite.positive},
      ...rising.map((angle, at) => ({
        name: `of positive features at ${angle} degrees, norm 4, M = 1`,
        value: example[at]!.positive,
      })),
      {name: 'largest |z| of a measured variance', value: worst.z},
    ],
    tests: [{hypothesis: 'measured variances are the closed forms', p: worst.p}],
    decide([wrong]) {
      const tail =
        rising.length === 0
          ? ''
          : `; at ${rising.join(' and ')} degrees the error of positive features grows, too, as the kernel vanishes`
      return {
        verdict: wrong
          ? 'refuted'
          : verdictOf(ANGLES.map(angle => (falling.includes(angle) ? 'yes' : 'no'))),
        statement: wrong
          ? `measured variances are off the closed forms, |z| up to ${worst.z.toFixed(1)}`
          : `true at ${falling.join(', ')} degrees${tail}`,
        explanation:
          'With norms r at an angle t the kernel is exp(r^2 cos t). The error of positive features goes like exp(2 r^2 (1 + 2 cos t)): beyond 120 degrees it vanishes with the kernel, between 90 and 120 degrees it grows without bound although the kernel vanishes. That of sin/cos features goes like exp(2 r^2) whatever the angle. Where |x + y| stays bounded, as the sentence silently assumes, it is true.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H10',
  sentence:
    'As the kernel goes to zero, the error of sin/cos features goes to infinity and that of positive features to zero',
  source: 'Choromanski et al. 2021, arXiv:2009.14794, lemma 2 and figure 2',
  paper: 'closed forms; a figure over angles and lengths up to 2',
  ours: 'the closed forms along six angles as norms grow to 4, with measured variances but for opposite vectors',
  statistic:
    'whether the mean squared error falls from norm 3 to norm 4 at each angle; z of 40 measured variances',
  rule: 'refuted if measurements contradict the closed forms; holds if positive features fall at every angle where the kernel vanishes; depends if at some',
  plans,
  judge,
} satisfies TestedClaim
